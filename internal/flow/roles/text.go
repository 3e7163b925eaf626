package roles

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"gaffer/internal/text/truncate"
)

const (
	minFence = 4   // minimum number of backquotes in a code fence around a value
	maxTicks = 30  // maximum number of consecutive backquotes that the function clean keeps
	maxName  = 200 // maximum size in bytes of a name, path or other one-line value
	// minItem is the minimum size in bytes to which the items of a list are shortened. If the list
	// is still too long, its last items are dropped.
	minItem = 200
)

// clean makes untrusted text safe to print. The result is valid UTF-8, and every line separator is
// a newline. Control characters except tabs and newlines are removed. Common characters that are
// invisible or override the direction of writing are removed, too. Long rows of backquotes are
// shortened.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	ticks := 0
	text = strings.Map(func(r rune) rune {
		if r != '`' {
			ticks = 0
		} else if ticks++; ticks > maxTicks {
			return -1
		}
		return printable(r)
	}, text)
	return strings.TrimRight(strings.TrimLeft(text, "\n"), " \t\n")
}

// printable returns r if it is safe to print. If r is a line separator other than a newline, such
// as a carriage return, it returns a newline. If r is not safe, it returns -1, so that
// [strings.Map] removes r.
func printable(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029':
		return '\n'
	case unicode.IsControl(r):
		return -1
	case r >= '\u202A' && r <= '\u202E', r >= '\u2066' && r <= '\u2069': // changes the direction of writing
		return -1
	case r == '\u200B' || r == '\u2060' || r == '\uFEFF', r >= 0xE0000 && r <= 0xE007F: // invisible characters
		return -1
	}
	return r
}

// fence puts a text into a Markdown code fence that has more backquotes than any row of backquotes
// in the text. The caller must have cleaned the text.
func fence(text string) string {
	longest, run := 0, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	ticks := strings.Repeat("`", max(minFence, longest+1))
	return ticks + "text\n" + text + "\n" + ticks
}

// fencedText cleans an untrusted text and puts it into a Markdown code fence. If the text is longer
// than maxBytes bytes, its middle is left out. If the text is empty, fencedText returns fallback.
func fencedText(text string, maxBytes int, fallback string) string {
	if text = clean(text); text == "" {
		return fallback
	}
	return fence(dropMiddle(text, maxBytes))
}

// fencedList cleans untrusted texts and puts them into one Markdown code fence, one text after the
// other. It shortens them to maxBytes bytes in total. If there is no text, it returns fallback.
func fencedList(list []string, maxBytes int, fallback string) string {
	if text := joinShortened(list, maxBytes); text != "" {
		return fence(text)
	}
	return fallback
}

// section returns a Markdown heading followed by the text in the parameter block. It returns "" if
// block is empty.
func section(heading, block string) string {
	if block == "" {
		return ""
	}
	return "## " + heading + "\n\n" + block
}

// dropMiddle returns a text of at most maxBytes bytes unchanged. In a longer text, it replaces the
// middle by a note that says how many bytes are left out.
func dropMiddle(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	const note = "\n[… %d bytes are left out here …]\n"
	room := max(0, maxBytes-len(note)-8)
	head, tail := truncate.Head(text, room*2/3), truncate.Tail(text, room/3)
	return head + fmt.Sprintf(note, len(text)-len(head)-len(tail)) + tail
}

// joinShortened joins texts by newlines. If the result is longer than maxBytes bytes, it shortens
// the longest texts. If that is not enough, it drops the last texts and adds a note that says how
// many were dropped.
func joinShortened(list []string, maxBytes int) string {
	var all []string
	for _, item := range list {
		if item = clean(item); item != "" {
			all = append(all, item)
		}
	}
	for each := maxBytes; ; each /= 2 {
		each = max(each, min(minItem, maxBytes))
		if text := joined(all, each); len(text) <= maxBytes {
			return text
		}
		if each <= minItem {
			return joinFitting(all, each, maxBytes)
		}
	}
}

func joined(list []string, each int) string {
	short := make([]string, len(list))
	for i, item := range list {
		short[i] = dropMiddle(item, each)
	}
	return strings.Join(short, "\n")
}

// joinFitting shortens each text of a list to maxItem bytes, and joins as many texts as fit into
// maxTotal bytes. If it drops texts, a last line says how many.
func joinFitting(list []string, maxItem, maxTotal int) string {
	const more = "… and %d more"
	var b strings.Builder
	for i, item := range list {
		if item = dropMiddle(item, maxItem); b.Len()+len(item)+len(more)+8 > maxTotal {
			fmt.Fprintf(&b, more, len(list)-i)
			return b.String()
		}
		b.WriteString(item + "\n")
	}
	return b.String()
}

// inlineCode returns an untrusted name as inline code of Markdown. An empty name becomes "none".
func inlineCode(text string) string {
	return "`" + cmp.Or(strings.ReplaceAll(oneLine(text), "`", "'"), "none") + "`"
}

// oneLine returns an untrusted name as a single line.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(clean(truncate.Head(text, 8*maxName))), " ")
	return truncate.Bytes(text, maxName+len("…"))
}

// commas joins at most 20 names by commas. If there are more names, it adds a note that says how
// many are left out.
func commas(list []string) string {
	const most = 20
	short := make([]string, 0, most+1)
	for i, name := range list {
		if i == most {
			short = append(short, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		short = append(short, oneLine(name))
	}
	return strings.Join(short, ", ")
}

func indented(line string) string {
	if line == "" {
		return ""
	}
	return "  " + line
}

// labelLine returns a line "label: value", or "" if the value is empty. Further lines of the value
// are indented.
func labelLine(label, value string) string {
	if value = clean(value); value == "" {
		return ""
	}
	return label + ": " + strings.ReplaceAll(value, "\n", "\n    ")
}

// labelled is like labelLine, but returns only the label if the value is empty. It is for tasks and
// requirements, which may have only an id.
func labelled(label, value string) string {
	label = cmp.Or(oneLine(label), "?")
	return cmp.Or(labelLine(label, value), label)
}

// joinLines joins the lines that are not empty.
func joinLines(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		if line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
