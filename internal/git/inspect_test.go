package git_test

import "testing"

func TestLinesThatAFileDoesNotHaveAreNotFound(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.Write(p.Dir, "open.txt", "one\ntwo")
	p.Commit(p.Dir, "a file without a newline at its end")
	tree := p.Git(p.Dir, "rev-parse", "HEAD")
	for _, c := range []struct {
		path        string
		first, last int
		want        string
	}{
		{"shared.txt", 2, 3, "two\nthree\n"},
		{"shared.txt", 3, 4, ""},
		{"shared.txt", 4, 4, ""},
		{"shared.txt", 0, 1, ""},
		{"open.txt", 2, 2, "two"},
		{"missing.txt", 1, 1, ""},
	} {
		got, err := p.repo.LinesOf(t.Context(), tree, c.path, c.first, c.last)
		if err != nil || got != c.want {
			t.Errorf("lines %d to %d of %s: %q, %v, want %q", c.first, c.last, c.path, got, err, c.want)
		}
	}
}
