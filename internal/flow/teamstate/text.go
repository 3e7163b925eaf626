package teamstate

import (
	"strings"

	"gaffer/internal/text/truncate"
	"gaffer/statefile/jsontree"
)

// Limits for texts of agents. The texts become part of documents and prompts, so they must not be
// too long.
const (
	maxText = 16 << 10 // maximum bytes of a long text
	maxLine = 1 << 10  // maximum bytes of a name or a title
	maxList = 200      // maximum number of items in a list
)

// clip cuts s to at most limit bytes, at a rune boundary. It replaces invalid UTF-8.
func clip(s string, limit int) string {
	return truncate.Bytes(strings.ToValidUTF8(s, "\uFFFD"), limit)
}

// dropMiddle shortens an agent's answer to about maxBytes bytes by dropping its middle. The end
// stays, because it is usually the most important part.
func dropMiddle(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return clip(s, maxBytes/2) + "\n" + strings.ToValidUTF8(s[len(s)-maxBytes/2:], "")
}

// oneLine returns a name or title as one line, cut to maxLine bytes.
func oneLine(s string) string { return strings.Join(strings.Fields(clip(s, maxLine)), " ") }

// clipList cuts a list to maxList items, and each item to maxLine bytes.
func clipList(list []string) []string {
	var out []string
	for _, s := range list[:min(len(list), maxList)] {
		out = append(out, clip(s, maxLine))
	}
	return out
}

// stringList reads a list of strings. A single string is read as a list with one item.
func stringList(v jsontree.Value) []string {
	if s, ok := v.Str(); ok {
		return []string{clip(s, maxLine)}
	}
	var list []string
	for i, item := range v.Items() {
		if i == maxList {
			break
		}
		if s, ok := item.Str(); ok {
			list = append(list, clip(s, maxLine))
		}
	}
	return list
}

// joinNewest joins texts, which are sorted from oldest to newest. If the result would have more
// than maxText bytes, joinNewest drops the oldest texts.
func joinNewest(texts []string) string {
	joined := ""
	for i := len(texts) - 1; i >= 0 && (joined == "" || len(texts[i])+len(joined) < maxText); i-- {
		joined = strings.TrimSuffix(texts[i]+"\n\n"+joined, "\n\n")
	}
	return clip(joined, maxText)
}
