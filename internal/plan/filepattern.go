package plan

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// pattern describes which files a task changes: a file, a folder with everything in it, or a glob.
// In a glob, * and ? match characters within one name, and ** matches any number of folders.
type pattern struct {
	text     string
	segments []string      // the names between the slashes
	ends     []literalEnds // for each segment: its text before the first and after the last wildcard
	literal  int           // number of segments before the first one with a wildcard
}

// literalEnds holds the part of a segment before its first wildcard, and the part after its last
// wildcard. If the segment has no wildcard, both parts are the whole segment.
type literalEnds struct {
	head, tail string
	deep       bool // the segment is **
}

const wildcards = "*?[{"

// checkPattern returns what is wrong with a file pattern of a task, or "" if it is valid.
func checkPattern(text string) string {
	switch {
	case strings.ContainsRune(text, 0):
		return "has a character that no file's name has"
	case len(text) > 1024:
		return "is longer than the 1024 bytes that a plan accepts"
	}
	return ""
}

func newPattern(text string) *pattern {
	p := &pattern{text: text}
	if clean := path.Clean(strings.TrimSpace(text)); clean != "." {
		p.segments = strings.Split(clean, "/")
	}
	for _, s := range p.segments {
		p.ends = append(p.ends, literalEndsOf(s))
	}
	for p.literal < len(p.segments) && !strings.ContainsAny(p.segments[p.literal], wildcards) {
		p.literal++
	}
	return p
}

func (p *pattern) glob() bool { return p.literal < len(p.segments) }

// matcher finds out which patterns overlap. The time to compare two globs grows with the product of
// their lengths, so a malicious plan could make the comparisons very slow. The field work counts
// the steps of all comparisons so far. When work exceeds maxWork, the matcher only makes a fast
// check of two globs, and treats globs that pass it as overlapping.
type matcher struct{ work int }

const maxWork = 20_000_000

// overlap reports whether there is a path that both patterns match. A pattern matches a path if it
// matches the path itself or a folder above it. Character classes are treated like ?, and braces
// like *. So overlap may return true for patterns that do not overlap.
func (m *matcher) overlap(p, q *pattern) bool {
	if !p.glob() && !q.glob() {
		n := min(len(p.segments), len(q.segments))
		return slices.Equal(p.segments[:n], q.segments[:n])
	}
	if !p.mayMeet(q) {
		return false
	}
	return m.work > maxWork || m.paths(p, q)
}

// mayMeet is a fast check. It returns true for all pairs of patterns that overlap, and false for
// many pairs that do not. It compares the segments at the same position, up to the first **, and
// only their text before the first and after the last wildcard.
func (p *pattern) mayMeet(q *pattern) bool {
	for i := range min(len(p.ends), len(q.ends)) {
		a, b := &p.ends[i], &q.ends[i]
		if a.deep || b.deep {
			return true
		}
		if !a.agree(b) {
			return false
		}
	}
	return true
}

func (e *literalEnds) agree(other *literalEnds) bool {
	a, b := e.head, other.head
	if n := min(len(a), len(b)); a[:n] != b[:n] {
		return false
	}
	a, b = e.tail, other.tail
	n := min(len(a), len(b))
	return a[len(a)-n:] == b[len(b)-n:]
}

func literalEndsOf(name string) literalEnds {
	first := strings.IndexAny(name, wildcards)
	if first < 0 {
		return literalEnds{head: name, tail: name}
	}
	last := strings.LastIndexAny(name, wildcards+"]}")
	return literalEnds{head: name[:first], tail: name[last+1:], deep: name == "**"}
}

// paths reports whether two globs overlap. It uses dynamic programming, from the last segment to
// the first: next[j] says whether the segments of p after i overlap the segments of q from j on. If
// one pattern has no more segments, the two overlap: that pattern matches a folder, and the other
// pattern matches paths in this folder.
func (m *matcher) paths(p, q *pattern) bool {
	a, b := p.segments, q.segments
	next := slices.Repeat([]bool{true}, len(b)+1)
	for i := len(a) - 1; i >= 0; i-- {
		row := make([]bool, len(b)+1)
		row[len(b)] = true
		for j := len(b) - 1; j >= 0; j-- {
			m.work++
			if a[i] == "**" || b[j] == "**" {
				row[j] = next[j] || row[j+1]
			} else {
				row[j] = next[j+1] && p.ends[i].agree(&q.ends[j]) && m.names(a[i], b[j])
			}
		}
		next = row
	}
	return next[0]
}

// names reports whether there is a name that both segments match.
func (m *matcher) names(a, b string) bool {
	if !strings.ContainsAny(a, wildcards) && !strings.ContainsAny(b, wildcards) {
		return a == b
	}
	x, y := letters(a), letters(b)
	m.work += len(x) * len(y)
	return lettersMeet(x, y)
}

// Special values in the result of the function letters: anyOne stands for ?, and anyMany for *.
const (
	anyOne  rune = -1
	anyMany rune = -2
)

// letters returns the runes of a segment of a pattern. The wildcard ? and a character class such as
// [a-z] become anyOne. The wildcard * and braces such as {a,b} become anyMany.
func letters(name string) []rune {
	var all []rune
	for name != "" {
		r, size := utf8.DecodeRuneInString(name)
		switch {
		case r == '*':
			r = anyMany
		case r == '?':
			r = anyOne
		case r == '[' && strings.Contains(name, "]"):
			r, size = anyOne, strings.Index(name, "]")+1
		case r == '{' && strings.Contains(name, "}"):
			r, size = anyMany, strings.Index(name, "}")+1
		}
		all = append(all, r)
		name = name[size:]
	}
	return all
}

// lettersMeet reports whether there is a name that matches both a and b, which are results of the
// function letters. The algorithm is the same as in [matcher.paths], with runes instead of
// segments. One difference: a and b do not match if only one of them has runes left.
func lettersMeet(a, b []rune) bool {
	next := make([]bool, len(b)+1)
	next[len(b)] = true
	for j := len(b) - 1; j >= 0; j-- {
		next[j] = b[j] == anyMany && next[j+1]
	}
	for i := len(a) - 1; i >= 0; i-- {
		row := make([]bool, len(b)+1)
		row[len(b)] = a[i] == anyMany && next[len(b)]
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == anyMany || b[j] == anyMany {
				row[j] = next[j] || row[j+1]
			} else {
				row[j] = next[j+1] && (a[i] == b[j] || a[i] == anyOne || b[j] == anyOne)
			}
		}
		next = row
	}
	return next[0]
}
