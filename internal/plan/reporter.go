package plan

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/text/suggest"
)

// reporter collects the problems and warnings that are found while a plan is read.
type reporter struct {
	file     string // path of the file that is being read
	problems Problems
	warnings Problems
	agents   []string // names of additional agents that gaffer.yaml defines
	compared int      // number of words that were compared so far to find suggestions
}

func (r *reporter) report(at position, format string, args ...any) {
	r.problems = append(r.problems, r.problem(at, format, args...))
}

func (r *reporter) warn(at position, format string, args ...any) {
	r.warnings = append(r.warnings, r.problem(at, format, args...))
}

func (r *reporter) problem(at position, format string, args ...any) Problem {
	file := r.file
	if at.file != "" {
		file = at.file
	}
	return Problem{File: file, Line: at.line, Column: at.column, Text: fmt.Sprintf(format, args...)}
}

// suggest adds a suggestion to the last reported problem: the candidate that is most similar to
// word. It adds none if no candidate is similar.
func (r *reporter) suggest(word string, candidates []string) {
	r.problems[len(r.problems)-1].Suggestion = r.near(word, candidates)
}

// Limits for the function near, which finds the most similar word and is slow. If a plan has
// thousands of misspelt words, only the first ones get a suggestion.
const (
	maxCompared = 200_000
	minWord     = 3 // shorter words get no suggestion, because they are similar to too many words
	maxWord     = 64
)

func (r *reporter) near(word string, candidates []string) string {
	if len(word) < minWord || len(word) > maxWord || r.compared > maxCompared {
		return ""
	}
	r.compared += len(candidates)
	likely := candidates
	if len(candidates) > 100 {
		far := len(word)/3 + 3
		likely = nil
		for _, c := range candidates {
			if d := len(c) - len(word); -far < d && d < far {
				likely = append(likely, c)
			}
		}
	}
	if near := suggest.Nearest(word, likely); near != word {
		return near
	}
	return ""
}

// orList joins words to a text such as "a, b or c".
func orList(words []string) string { return wordList(words, "or") }

// andList joins words to a text such as "a, b and c".
func andList(words []string) string { return wordList(words, "and") }

func wordList(words []string, last string) string {
	const most = 12
	if len(words) > most {
		words = append(slices.Clip(words[:most-1]), fmt.Sprintf("%d more", len(words)-most+1))
		last = "and"
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}
