package watch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gaffer/internal/testkit/testenv"
)

// orphan runs a plan in the background. It kills the run's gaffer process once the output of
// 'gaffer ps' contains text. The agents keep running.
func (p *testProject) orphan(plan, text string) {
	p.t.Helper()
	var d struct{ PID int }
	if err := json.Unmarshal([]byte(p.gaffer("run", plan, "--detach", "--json")), &d); err != nil {
		p.t.Fatal(err)
	}
	p.until(text, func() (string, bool) { ps := p.gaffer("ps"); return ps, strings.Contains(ps, text) })
	testenv.Signal(p.t, d.PID, syscall.SIGKILL)
	p.unowned()
}

// unowned waits until no gaffer process works on the latest run.
func (p *testProject) unowned() {
	p.t.Helper()
	p.until("no owner", func() (string, bool) {
		text := p.gaffer("status", "--json")
		return text, !strings.Contains(text, `"alive"`)
	})
}

func TestAnAnswerACancelAndARetryStartAProcessForARunThatHasNone(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t, map[string]string{
		"ask.yaml":  "name: asks\ndefaults: {agent: fake}\ntasks:\n  - {id: port, prompt: \"fake: ask Which port?\"}\n",
		"slow.yaml": "name: slow\ntasks:\n  - {id: slow, shell: \"test -e mended || exec sleep 600\"}\n",
	})
	p.orphan("ask.yaml", "Which port?")
	s := p.watch(100, 24, nil)
	s.sees("Which port?")
	s.press("a", "8", "0", "Enter")
	s.sees("✓ complete  asks")

	p.orphan("slow.yaml", "slow")
	s.sees("● running   slow")
	s.press("Enter")
	s.sees("▸ ● running  slow")
	s.press("c")
	s.sees("Cancel ")
	s.press("y")
	s.sees("▸ ⊘ cancelled")
	if err := os.WriteFile(filepath.Join(p.dir, "web", "mended"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.unowned() // wait until the process that the cancel started has ended
	s.press("r")
	s.sees("▸ ✓ complete")
}
