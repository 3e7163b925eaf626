package runner

import (
	"strings"
	"unicode/utf8"
)

// words are the last that an agent has said and done, for who must know how far
// it came.
type words struct {
	lines []string
	size  int // characters
}

// maxWords is how many characters of them are kept.
const maxWords = 500

// add takes a line in. One that goes on with the last replaces it: some programs
// say their texts word by word.
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

// after is what went wrong, and then the words, unless it has the last of them.
func (w *words) after(problem string) string {
	switch {
	case len(w.lines) == 0 || strings.Contains(problem, w.lines[len(w.lines)-1]):
		return problem
	case problem == "":
		return strings.Join(w.lines, "\n")
	}
	return problem + "; its last words:\n" + strings.Join(w.lines, "\n")
}
