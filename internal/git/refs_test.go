package git

import (
	"os/exec"
	"strings"
	"testing"
)

func TestEveryIdBecomesAPartOfARef(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"api": "api", "010-02": "010-02", "a b": "a%20b", "50%": "50%25", "a..b": "a.%2Eb", "x.lock": "x%2Elock", "end.": "end%2E",
		"v1.2": "v1.2", "über": "über", "a~^:?*[b": "a%7E%5E%3A%3F%2A%5Bb", "@{u}": "@%7Bu}", "a...": "a.%2E%2E", "@": "@",
		"x.lock.lock": "x.lock%2Elock",
	} {
		if got := RefPart(id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

// Git rejects a part that ends in .lock, even in the middle of a ref's name.
func TestGitTakesEveryPart(t *testing.T) {
	t.Parallel()
	ids := []string{"x.lock.lock", "@", "a~^:?*[b\\", "a...", "a..", "{", "@{", strings.Repeat("a b", 66), strings.Repeat("ü ", 66), "a.lock."}
	seen := map[string]string{}
	for _, id := range ids {
		part := RefPart(id)
		if other, ok := seen[part]; ok || len(part) > maxPart {
			t.Errorf("%q: %q, as %q", id, part, other)
		}
		seen[part] = id
		if out, err := exec.Command("git", "check-ref-format", Heads+"gaffer/"+part+"/"+part).CombinedOutput(); err != nil {
			t.Errorf("%q: %q: %v %s", id, part, err, out)
		}
	}
	long := strings.Repeat("a b", 66)
	if RefPart(long+"x") == RefPart(long+"y") {
		t.Error("two long ids become one")
	}
}

func TestWordsAreQuotedForAShell(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"plain", "a b", "it's", "$HOME", "", "a\nb", `"`, "*", "ü"} {
		out, err := exec.Command("sh", "-c", "printf %s "+Quote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q: %q, %v", word, out, err)
		}
	}
}
