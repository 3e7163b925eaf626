package runner

import (
	"strings"
	"unicode/utf8"
)

// words are the last messages and actions of an agent. They show the user how far it
// got.
type words struct {
	lines []string
	size  int // in characters
}

// maxWords is the maximum number of characters kept.
const maxWords = 500

// add adds a line. A line that starts with the previous line replaces it, because some
// programs print their texts word by word.
func (w *words) add(line string) {
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
	for len(w.lines) > 1 && w.size+len(w.lines)-1 > maxWords {
		w.size -= utf8.RuneCountInString(w.lines[0])
		w.lines = w.lines[1:]
	}
}

// after returns the problem followed by the last lines, or only the problem if it
// already contains the last line.
func (w *words) after(problem string) string {
	switch {
	case len(w.lines) == 0 || strings.Contains(problem, w.lines[len(w.lines)-1]):
		return problem
	case problem == "":
		return strings.Join(w.lines, "\n")
	}
	return problem + "; its last words:\n" + strings.Join(w.lines, "\n")
}
