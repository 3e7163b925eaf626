package roles

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	minFence = 4   // longer than the fences of the templates, which have three
	maxTicks = 30  // backquotes in a row that a text may have
	maxName  = 200 // of names, paths and other single lines
	minItem  = 200 // of a list: before items get shorter than this, the last ones are left out
)

// clean makes a text of another printable: valid UTF-8, lines that end as ours,
// no control characters, and none that change what a reader sees.
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

// printable is what stands for r, or -1 for nothing.
func printable(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029':
		return '\n'
	case unicode.IsControl(r):
		return -1
	case r >= '\u202A' && r <= '\u202E', r >= '\u2066' && r <= '\u2069': // turn the direction of writing
		return -1
	case r == '\u200B' || r == '\u2060' || r == '\uFEFF', r >= 0xE0000 && r <= 0xE007F: // cannot be seen
		return -1
	}
	return r
}

// fence puts a clean text between lines that it cannot have itself.
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

// block is a text of another within its cap, or what to say if there is none.
func block(text string, most int, none string) string {
	if text = clean(text); text == "" {
		return none
	}
	return fence(cut(text, most))
}

// items is a list of texts of others within its cap, or what to say if there
// is none.
func items(list []string, most int, none string) string {
	if text := join(list, most); text != "" {
		return fence(text)
	}
	return none
}

// section is a block under a heading, or nothing.
func section(heading, block string) string {
	if block == "" {
		return ""
	}
	return "## " + heading + "\n\n" + block
}

// cut leaves out the middle of a text that is too long, and says so.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const note = "\n[… %d bytes are left out here …]\n"
	room := max(0, most-len(note)-8)
	head, tail := start(text, room*2/3), end(text, room/3)
	return head + fmt.Sprintf(note, len(text)-len(head)-len(tail)) + tail
}

// start is at most n bytes from the beginning of text, and ends with a whole rune.
func start(text string, n int) string {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:min(n, len(text))]
}

// end is at most n bytes from the end of text, and begins with a whole rune.
func end(text string, n int) string {
	at := max(0, len(text)-n)
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}

// join puts texts below each other. If they are too long, the longest are cut,
// and if that is not enough the last are left out, which it says.
func join(list []string, most int) string {
	var all []string
	for _, item := range list {
		if item = clean(item); item != "" {
			all = append(all, item)
		}
	}
	for each := most; ; each /= 2 {
		each = max(each, min(minItem, most))
		if text := joined(all, each); len(text) <= most {
			return text
		}
		if each <= minItem {
			return fitting(all, each, most)
		}
	}
}

func joined(list []string, each int) string {
	short := make([]string, len(list))
	for i, item := range list {
		short[i] = cut(item, each)
	}
	return strings.Join(short, "\n")
}

// fitting is as many of the items as there is room for.
func fitting(list []string, each, most int) string {
	const more = "… and %d more"
	var b strings.Builder
	for i, item := range list {
		if item = cut(item, each); b.Len()+len(item)+len(more)+8 > most {
			fmt.Fprintf(&b, more, len(list)-i)
			return b.String()
		}
		b.WriteString(item + "\n")
	}
	return b.String()
}

// code is a name of another within a line of ours.
func code(text string) string {
	return "`" + cmp.Or(strings.ReplaceAll(oneLine(text), "`", "'"), "none") + "`"
}

// oneLine is a name of another within a block.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(clean(start(text, 8*maxName))), " ")
	if len(text) > maxName {
		text = start(text, maxName) + "…"
	}
	return text
}

// commas is a few names in one line.
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

// entry is a line "label: value". Further lines of the value are indented.
func entry(label, value string) string {
	if value = clean(value); value == "" {
		return ""
	}
	return label + ": " + strings.ReplaceAll(value, "\n", "\n    ")
}

// labelled is an entry that stands for its label, too: something to do may have
// an id and nothing else.
func labelled(label, value string) string {
	label = cmp.Or(oneLine(label), "?")
	return cmp.Or(entry(label, value), label)
}

// entries is the lines that say something.
func entries(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		if line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
