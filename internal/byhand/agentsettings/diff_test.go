package agentsettings

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func text(lines []DiffLine) string {
	var b strings.Builder
	for _, line := range lines {
		if line.Mark != '@' {
			b.WriteByte(line.Mark)
		}
		b.WriteString(line.Text + "\n")
	}
	return b.String()
}

func TestADiffIsReadByPatch(t *testing.T) {
	t.Parallel()
	for name, old := range examples(t) {
		f := theFile(t, wish(), "/p", name)
		c, err := Plan(f.Format, old, nil, f.Entries)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		put(t, filepath.Join(dir, "f"), old)
		patch := "--- a/f\n+++ b/f\n" + text(Diff(old, c.New))
		cmd := exec.Command("git", "apply", "--unidiff-zero", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch)
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, patch)
			continue
		}
		if got := get(t, filepath.Join(dir, "f")); string(got) != string(c.New) {
			t.Errorf("%s: became %q, want %q", name, got, c.New)
		}
	}
}

func TestADiffHasThreeLinesOfContext(t *testing.T) {
	t.Parallel()
	old := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	made := "1\n2\n3\n4\nx\n6\n7\n8\n9\n10\n11\n12\n13\n"
	want := `@@ -2,7 +2,7 @@
 2
 3
 4
-5
+x
 6
 7
 8
@@ -10,3 +10,4 @@
 10
 11
 12
+13
`
	if got := text(Diff([]byte(old), []byte(made))); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := Diff([]byte(old), []byte(old)); len(got) > 0 {
		t.Errorf("no difference is %v", got)
	}
	long := strings.Repeat("a\n", 3000)
	other := strings.Repeat("b\n", 3000)
	if got := Diff([]byte(long), []byte(other)); len(got) != 6001 {
		t.Errorf("%d lines", len(got))
	}
}
