package tmux

import (
	"os/exec"
	"slices"
	"testing"

	"gaffer/internal/testkit/testenv"
)

func TestTheNameOfAUsersSessionMayContainSpaces(t *testing.T) {
	testenv.Integration(t)
	t.Setenv("TMUX", "")
	t.Setenv("TMUX_TMPDIR", t.TempDir())
	for _, name := range []string{"one", "two words"} {
		if out, err := exec.CommandContext(t.Context(), "tmux", "-f", "/dev/null", "new-session", "-d", "-s", name, "sleep", "60").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	defer func() { _ = exec.Command("tmux", "kill-server").Run() }()
	if got := UserSessions(t.Context()); !slices.Equal(got, []string{"one", "two words"}) {
		t.Errorf("%q", got)
	}
}
