package light_test

import (
	"strings"
	"testing"

	"gaffer/internal/light"
)

func TestEachDoesWhatItsNamesakeDoes(t *testing.T) {
	for _, text := range []string{"", "/", "a", "a=b=c", "=", "/a/b//", "///", "a/../b", "é=ü/", "rollout-1.jsonl"} {
		for _, part := range []string{"", "/", "a", "=", "/../", ".jsonl", "é", "longer than any of the texts"} {
			if got := light.HasPrefix(text, part); got != strings.HasPrefix(text, part) {
				t.Errorf("%q begins with %q: %v", text, part, got)
			}
			if got := light.HasSuffix(text, part); got != strings.HasSuffix(text, part) {
				t.Errorf("%q ends with %q: %v", text, part, got)
			}
			if got := light.TrimSuffix(text, part); got != strings.TrimSuffix(text, part) {
				t.Errorf("%q without %q is %q", text, part, got)
			}
			if got := light.Contains(text, part); got != strings.Contains(text, part) {
				t.Errorf("%q contains %q: %v", text, part, got)
			}
		}
		if got := light.TrimSlashes(text); got != strings.TrimRight(text, "/") {
			t.Errorf("%q without slashes is %q", text, got)
		}
		before, after := light.Cut(text, '=')
		if b, a, _ := strings.Cut(text, "="); before != b || after != a {
			t.Errorf("%q is cut into %q and %q", text, before, after)
		}
		if got := light.LastIndex(text, '/'); got != strings.LastIndexByte(text, '/') {
			t.Errorf("the last slash of %q is at %d", text, got)
		}
	}
}
