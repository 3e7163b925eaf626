package agentsettings

import (
	"fmt"
	"strings"
)

// DiffLine is one line of a diff. Mark is a space for an unchanged line, - for a removed
// line, + for an added line, and @ for the heading of a hunk.
type DiffLine struct {
	Mark byte
	Text string // without the newline
}

// contextLines is the number of unchanged lines that are shown before and after a change.
const contextLines = 3

// Diff returns a unified diff of two texts, without the names of the files.
func Diff(old, made []byte) []DiffLine {
	a, b := splitLines(old), splitLines(made)
	var out []DiffLine
	for _, h := range hunks(align(a, b)) {
		out = append(out, DiffLine{'@', h.heading()})
		out = append(out, h.lines...)
	}
	return out
}

// splitLines splits a text into lines and removes their newlines. If the last line has no newline,
// splitLines adds the text noNewline to it, so that it differs from the same line with a newline.
func splitLines(text []byte) []string {
	var lines []string
	for line := range strings.Lines(string(text)) {
		if cut, ok := strings.CutSuffix(line, "\n"); ok {
			lines = append(lines, cut)
		} else {
			lines = append(lines, line+noNewline)
		}
	}
	return lines
}

const noNewline = "\n\\ No newline at end of file"

// maxTable limits the size of the table that alignChanged uses to compare two texts. The size is
// the number of old lines times the number of new lines. If the table would be larger, the lines
// are not compared: all lines between the first and the last difference count as changed.
const maxTable = 4 << 20

// align returns the lines of both texts in order, each marked as unchanged, removed or added.
func align(a, b []string) (lines []DiffLine) {
	var tail []DiffLine
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		lines = append(lines, DiffLine{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, DiffLine{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	lines = append(lines, alignChanged(a, b)...)
	for i := len(tail) - 1; i >= 0; i-- {
		lines = append(lines, tail[i])
	}
	return lines
}

// alignChanged returns the lines of a and b in order, each marked as unchanged, removed or added.
// It aligns them by their longest common subsequence. a and b are the parts of the two texts from
// the first to the last difference.
func alignChanged(a, b []string) (lines []DiffLine) {
	if len(a)*len(b) > maxTable {
		for _, line := range a {
			lines = append(lines, DiffLine{'-', line})
		}
		a = nil
	}
	common := lcsTable(a, b)
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, DiffLine{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, DiffLine{'-', a[i]})
			i++
		default:
			lines = append(lines, DiffLine{'+', b[j]})
			j++
		}
	}
	return lines
}

// lcsTable returns a table: element [i][j] is the length of the longest common subsequence of a[i:]
// and b[j:].
func lcsTable(a, b []string) [][]int32 {
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	return common
}

// hunk is a group of nearby changes, with the unchanged lines around them.
type hunk struct {
	old, made int // index of the hunk's first line in the old and in the new text
	lines     []DiffLine
}

func (h hunk) heading() string {
	old, made := 0, 0
	for _, line := range h.lines {
		if line.Mark != '+' {
			old++
		}
		if line.Mark != '-' {
			made++
		}
	}
	return fmt.Sprintf("@@ -%s +%s @@", lineRange(h.old, old), lineRange(h.made, made))
}

func lineRange(from, count int) string {
	if count > 0 {
		from++
	}
	if count == 1 {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d,%d", from, count)
}

func hunks(lines []DiffLine) (all []hunk) {
	old, made, until := 0, 0, -1 // until is the index of the last line of the current hunk
	for i, line := range lines {
		if line.Mark != ' ' {
			if until < i {
				from := max(i-contextLines, until+1)
				all = append(all, hunk{old: old - (i - from), made: made - (i - from), lines: lines[from:i:i]})
			}
			until = i + contextLines
		}
		if i <= until {
			h := &all[len(all)-1]
			h.lines = append(h.lines, line)
		}
		if line.Mark != '+' {
			old++
		}
		if line.Mark != '-' {
			made++
		}
	}
	return all
}
