package plan

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// pattern is a file, a folder with all that is in it, or a glob: * and ? within
// a name, ** for any number of folders.
type pattern struct {
	text     string
	segments []string
	edges    []edges // of each segment
	literal  int     // how many segments at the beginning have no wildcard
}

// edges is what a name has before its first and behind its last wildcard.
type edges struct {
	head, tail string
	deep       bool // the name is **
}

const wildcards = "*?[{"

// checkPattern says what is wrong with what a task declares as its files.
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
		p.edges = append(p.edges, edgesOf(s))
	}
	for p.literal < len(p.segments) && !strings.ContainsAny(p.segments[p.literal], wildcards) {
		p.literal++
	}
	return p
}

func (p *pattern) glob() bool { return p.literal < len(p.segments) }

// matcher compares patterns. Comparing hostile globs costs the product of their
// lengths, so it has a budget, and behind it takes all globs to overlap.
type matcher struct{ work int }

const maxWork = 20_000_000

// overlap tells whether some path is of both patterns: named by them, or below
// a folder that they name. Classes and braces are taken for wildcards, so it
// errs on the side of caution.
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

// mayMeet is a quick no, without the table: up to the first **, names that
// stand at the same place must agree at both edges.
func (p *pattern) mayMeet(q *pattern) bool {
	for i := range min(len(p.edges), len(q.edges)) {
		a, b := &p.edges[i], &q.edges[i]
		if a.deep || b.deep {
			return true
		}
		if !a.agree(b) {
			return false
		}
	}
	return true
}

func (e *edges) agree(other *edges) bool {
	a, b := e.head, other.head
	if n := min(len(a), len(b)); a[:n] != b[:n] {
		return false
	}
	a, b = e.tail, other.tail
	n := min(len(a), len(b))
	return a[len(a)-n:] == b[len(b)-n:]
}

func edgesOf(name string) edges {
	first := strings.IndexAny(name, wildcards)
	if first < 0 {
		return edges{head: name, tail: name}
	}
	last := strings.LastIndexAny(name, wildcards+"]}")
	return edges{head: name[:first], tail: name[last+1:], deep: name == "**"}
}

// paths fills a table from the end: next[j] says whether what follows in a
// meets b[j:]. Where one of the two ends, it is a folder, and the other goes on
// below it.
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
				row[j] = next[j+1] && p.edges[i].agree(&q.edges[j]) && m.names(a[i], b[j])
			}
		}
		next = row
	}
	return next[0]
}

// names tells whether some name matches both.
func (m *matcher) names(a, b string) bool {
	if !strings.ContainsAny(a, wildcards) && !strings.ContainsAny(b, wildcards) {
		return a == b
	}
	x, y := letters(a), letters(b)
	m.work += len(x) * len(y)
	return lettersMeet(x, y)
}

// What stands for ? and * among the letters of a name.
const (
	anyOne  rune = -1
	anyMany rune = -2
)

// letters splits a name. A class is any one letter, a brace any many.
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

// lettersMeet fills a table like paths does, but both names end together.
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
