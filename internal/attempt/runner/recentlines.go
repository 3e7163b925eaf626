package runner

import (
	"strings"
	"unicode/utf8"
)

// recentLines holds the last messages and actions of an agent, to show the user how far a failed
// agent got.
type recentLines struct {
	lines []string
	size  int // total number of characters of the lines
}

// maxRecentChars is the maximum number of characters that recentLines keeps. The newest line is
// always kept, even if it is longer.
const maxRecentChars = 500

// add adds a line. If the new line begins with the text of the previous line, the new line replaces
// the previous one, because some programs print the same growing text again and again.
func (w *recentLines) add(line string) {
	if line == "" {
		return
	}
	if last := len(w.lines) - 1; last >= 0 {
		before := w.lines[last]
		if line == before {
			return
		}
		if strings.HasPrefix(line, before) {
			w.size -= utf8.RuneCountInString(before)
			w.lines = w.lines[:last]
		}
	}
	w.lines = append(w.lines, line)
	w.size += utf8.RuneCountInString(line)
	for len(w.lines) > 1 && w.size+len(w.lines)-1 > maxRecentChars {
		w.size -= utf8.RuneCountInString(w.lines[0])
		w.lines = w.lines[1:]
	}
}

// withRecent returns the parameter problem, followed by the recent lines. If problem already
// contains the newest line, or if there are no lines, withRecent returns problem unchanged.
func (w *recentLines) withRecent(problem string) string {
	switch {
	case len(w.lines) == 0 || strings.Contains(problem, w.lines[len(w.lines)-1]):
		return problem
	case problem == "":
		return strings.Join(w.lines, "\n")
	}
	return problem + "; its last words:\n" + strings.Join(w.lines, "\n")
}
