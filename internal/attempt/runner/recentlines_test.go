package runner

import (
	"strings"
	"testing"
)

func TestRecentLinesAreKept(t *testing.T) {
	long := strings.Repeat("é", 300)
	for name, c := range map[string]struct {
		said          []string
		problem, want string
	}{
		"nothing":              {nil, "it died", "it died"},
		"no problem":           {[]string{"one", "", "two"}, "", "one\ntwo"},
		"both":                 {[]string{"one", "one"}, "it died", "it died; its last words:\none"},
		"the problem has them": {[]string{"one", "two"}, "exit code 3: two", "exit code 3: two"},
		"word by word":         {[]string{"I", "I am", "I am here", "edit: x"}, "", "I am here\nedit: x"},
		"too many":             {[]string{"gone", long, "x" + long, "end"}, "", "x" + long + "\nend"},
		"one too long":         {[]string{"gone", long + long}, "", long + long},
	} {
		var w recentLines
		for _, line := range c.said {
			w.add(line)
		}
		if got := w.withRecent(c.problem); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
