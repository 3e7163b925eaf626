package agentsettings

import (
	"bytes"
	"slices"
	"strings"
)

// lineWriter edits files that consist of lines and in which # starts a comment, such as .gitignore.
// gaffer's lines are in one block below a heading.
type lineWriter struct{}

const heading = "# What gaffer keeps on this machine ('gaffer init')"

func (lineWriter) check([]byte) error { return nil }

func (lineWriter) inspect(old []byte, entries []Entry) (inspection, error) {
	return inspection{complete: len(missing(old, entries)) == 0}, nil
}

// missing returns the lines that are in entries but not in the file.
func missing(old []byte, entries []Entry) (lines []string) {
	has := map[string]bool{}
	for line := range strings.Lines(strings.TrimPrefix(string(old), byteOrderMark)) {
		has[strings.TrimSpace(line)] = true
	}
	for _, e := range entries {
		if line, ok := e.Value.(string); ok && !has[line] {
			lines = append(lines, line)
		}
	}
	return lines
}

func (lineWriter) add(old []byte, entries []Entry) ([]Splice, error) {
	lines := missing(old, entries)
	if len(lines) == 0 {
		return nil, nil
	}
	block := append([]string{heading}, lines...)
	return []Splice{insertion(len(old), paragraph(old, block))}, nil
}

// paragraph returns the text that appends lines to old. A blank line separates them from the text in
// old. The result ends with a newline only if old is empty or ends with a newline.
func paragraph(old []byte, lines []string) string {
	eol := (&jsonText{src: old}).eol()
	body := strings.Join(lines, eol)
	text := bytes.TrimPrefix(old, []byte(byteOrderMark))
	switch {
	case len(text) == 0:
		return body + eol
	case text[len(text)-1] != '\n':
		return eol + eol + body
	case bytes.HasSuffix(text, []byte("\n\n")), bytes.HasSuffix(text, []byte("\n\r\n")), len(bytes.TrimSpace(text)) == 0:
		return body + eol
	}
	return eol + body + eol
}

// fixCommands returns all entries in the result rest, the entries that the user has not extended.
// In this format, an entry is a whole line, so a user cannot extend it.
func (lineWriter) fixCommands(_ []byte, entries []Entry) (extended, rest []Entry, splices []Splice, err error) {
	return nil, entries, nil, nil
}

func (lineWriter) remove(old []byte, entries []Entry, _ map[string][]byte) ([]Splice, error) {
	ours := map[string]bool{}
	for _, e := range entries {
		if line, ok := e.Value.(string); ok {
			ours[line] = true
		}
	}
	lines := slices.Collect(bytes.Lines(old))
	var splices []Splice
	at := 0
	for i := 0; i < len(lines); i++ {
		from := at
		at += len(lines[i])
		if strings.TrimSpace(string(lines[i])) != heading {
			continue
		}
		for ; i+1 < len(lines) && ours[strings.TrimSpace(string(lines[i+1]))]; i++ {
			at += len(lines[i+1])
		}
		splices = append(splices, deletion(old, blankBefore(old, from), at))
	}
	return splices, nil
}

// blankBefore returns the start of the blank line before the line that starts at offset. If the
// line before is not blank, it returns offset.
func blankBefore(text []byte, offset int) int {
	before := lineBefore(text, offset)
	if before == offset || before > 0 && text[before-1] != '\n' {
		return offset
	}
	return before
}
