package display

import (
	"os/exec"
	"strings"
	"testing"
)

func TestAShellReadsAQuotedLineUnchanged(t *testing.T) {
	argv := []string{"printf", "%s\n", "plain", "", "a b", "it's", "$HOME", "=x", "`id`", "é", "a\nb", `\`, "*", ";", "~"}
	out, err := exec.Command("sh", "-c", ShellLine(argv)).Output()
	if want := strings.Join(argv[2:], "\n") + "\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
}
