package teamstate

import (
	"strings"

	"gaffer/internal/text/truncate"
	"gaffer/statefile/jsontree"
)

// Messages of agents go into documents and prompts. These limits keep a single agent
// from flooding them.
const (
	maxText = 16 << 10 // bytes of a text
	maxLine = 1 << 10  // bytes of a name or a title
	maxList = 200      // items of a list
)

// clip cuts a text at a rune boundary to at most most bytes.
func clip(s string, most int) string {
	return truncate.Bytes(strings.ToValidUTF8(s, "\uFFFD"), most)
}

// ends shortens a long text by dropping its middle, because the important part of an
// answer is at its end.
func ends(s string, most int) string {
	if len(s) <= most {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return clip(s, most/2) + "\n" + strings.ToValidUTF8(s[len(s)-most/2:], "")
}

// line returns a text as one line, for names and titles.
func line(s string) string { return strings.Join(strings.Fields(clip(s, maxLine)), " ") }

// lines clips every text of a list, and the list itself.
func lines(list []string) []string {
	var out []string
	for _, s := range list[:min(len(list), maxList)] {
		out = append(out, clip(s, maxLine))
	}
	return out
}

// strs reads a list of strings. A single string counts as a list of one.
func strs(v jsontree.Value) []string {
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

// newest joins texts and drops the oldest ones if the result would be too long.
func newest(texts []string) string {
	joined := ""
	for i := len(texts) - 1; i >= 0 && (joined == "" || len(texts[i])+len(joined) < maxText); i-- {
		joined = strings.TrimSuffix(texts[i]+"\n\n"+joined, "\n\n")
	}
	return clip(joined, maxText)
}
