package cli

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gaffer/internal/cli/hook"
	"gaffer/internal/testkit/testenv"
)

// Whatever the input of the hook is, the agent must not notice an error.
func TestAHookNeverFails(t *testing.T) {
	testenv.Integration(t)
	binary := testenv.Program(t)
	open, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	defer open.Close()
	for want, in := range map[string]io.Reader{
		"gaffer: hook codex: read the event: ":                               strings.NewReader(`{"hook_event_name": `),
		"gaffer: hook codex: not done within " + hook.Budget.String() + "\n": open,
		"": strings.NewReader(""),
		"gaffer: hook codex: neither XDG_STATE_HOME nor ": strings.NewReader(`{"hook_event_name": "Stop", "session_id": "s"}`),
	} {
		cmd := exec.CommandContext(t.Context(), binary, "hook", "codex")
		cmd.Env = []string{"HOME="}
		if !strings.Contains(want, "XDG") {
			cmd.Env = []string{"HOME=" + t.TempDir()}
		}
		cmd.Stdin = in
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), want) || want == "" && len(out) > 0 {
			t.Errorf("%v, said %q, want %q", err, out, want)
		}
	}
}
