package plan

import (
	"path"
	"testing"

	"pgregory.net/rapid"
)

func TestPatternsOverlapWhenOnePathIsOfBoth(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a.go", "a.go", true},
		{"a.go", "./a.go", true},
		{"a.go", "b.go", false},
		{"src", "src/a.go", true},
		{"src/", "src/deep/a.go", true},
		{"src", "src2/a.go", false},
		{".", "anything/at/all", true},
		{"/etc/x", "etc/x", false},
		{"*.go", "a.go", true},
		{"*.go", "a.md", false},
		{"*.go", "sub/a.go", false},
		{"src/*.go", "src", true},
		{"src/*", "src/deep/a.go", true},
		{"src/a*", "src/*b", true},
		{"src/a*", "src/b*", false},
		{"src/*a", "src/*b", false},
		{"a?c", "abc", true},
		{"a?c", "abbc", false},
		{"**/x.go", "deep/down/x.go", true},
		{"**/x.go", "x.go", true},
		{"**/x.go", "y.go", true}, // y.go may be a folder, and may contain x.go
		{"a/**/z", "a/b/c", true},
		{"a/**/z", "b/**/z", false},
		{"a/**", "a", true},
		{"[ab].go", "a.go", true},
		{"{a,b}.go", "b.go", true},
		{"{a,b}.go", "b.md", false},
		{"*a*b*", "*b*a*", true},
		{"é*", "éa", true},
	} {
		var m matcher
		p, q := newPattern(c.a), newPattern(c.b)
		if m.overlap(p, q) != c.want || m.overlap(q, p) != c.want {
			t.Errorf("%s and %s: want %v", c.a, c.b, c.want)
		}
	}
}

// For a glob and a name, overlap must return the same result as path.Match.
func TestAGlobOverlapsWithTheNamesThatItMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ab]{1,4}`).Draw(t, "name")
		glob := rapid.StringMatching(`[ab*?]{1,4}`).Draw(t, "glob")
		if glob == "**" {
			return
		}
		want, err := path.Match(glob, name)
		if err != nil {
			t.Fatal(err)
		}
		var m matcher
		if got := m.overlap(newPattern(glob), newPattern(name)); got != want {
			t.Errorf("%s and %s: %v, want %v", glob, name, got, want)
		}
	})
}

func TestGlobsOverlapWhenANameMatchesBoth(t *testing.T) {
	names := []string{""}
	for at := 0; len(names[at]) < 4; at++ {
		names = append(names, names[at]+"a", names[at]+"b")
	}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.StringMatching(`[ab*?]{1,3}`).Draw(t, "a")
		b := rapid.StringMatching(`[ab*?]{1,3}`).Draw(t, "b")
		if a == "**" || b == "**" || a == "***" || b == "***" {
			return
		}
		want := false
		for _, name := range names[1:] {
			x, _ := path.Match(a, name)
			y, _ := path.Match(b, name)
			want = want || x && y
		}
		var m matcher
		got := m.overlap(newPattern(a), newPattern(b))
		if want && !got {
			t.Errorf("%s and %s overlap", a, b)
		}
		if got && !want && len(a) < 3 && len(b) < 3 {
			t.Errorf("%s and %s do not overlap", a, b)
		}
	})
}
