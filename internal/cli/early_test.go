package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/internal/early"
	"gaffer/internal/testenv"
)

// The runtime says which packages it begins, one after the other.
func TestAHookIsAnsweredBeforeTheRestOfGafferBegins(t *testing.T) {
	testenv.Integration(t)
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), testenv.Program(t), "hook", "claude")
	cmd.Env = []string{"HOME=" + home, "GODEBUG=inittrace=1"}
	cmd.Stdin = strings.NewReader(`{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/", "tool_name": "Bash"}`)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), "init gaffer/internal/heard ") {
		t.Errorf("the runtime does not say what it begins: %s", out)
	}
	for _, heavy := range []string{"encoding/gob", "modernc.org/sqlite/lib", "net/http", "gaffer/internal/config", "github.com/spf13/cobra"} {
		if strings.Contains(string(out), "init "+heavy+" ") {
			t.Errorf("%s has begun", heavy)
		}
	}
	if _, err := os.Stat(filepath.Join(home, ".local/state/gaffer/interactive/claude.s.json")); err != nil {
		t.Errorf("the event was not noted: %v", err)
	}
}

// Whatever is wrong with its input, an agent must not notice.
func TestAHookThatIsAnsweredEarlyNeverFails(t *testing.T) {
	testenv.Integration(t)
	binary := testenv.Program(t)
	open, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	defer open.Close()
	for want, in := range map[string]io.Reader{
		"gaffer: hook codex: read the event: ":                                strings.NewReader(`{"hook_event_name": `),
		"gaffer: hook codex: not done within " + early.Budget.String() + "\n": open,
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
