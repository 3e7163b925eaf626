package watch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
)

// plans is a set of plans with tasks in every state. Their agents print something and then hang, so
// that the screen stops changing. One question contains control characters, and one name contains
// wide characters.
var plans = map[string]string{
	"release.yaml": `name: release 1.4
defaults: {agent: fake}
tasks:
  - {id: schema, name: Write the schema, verify: ["true"], prompt: "fake: usage 30000 1200 0.12\nfake: say the schema is written"}
  - {id: api, name: Build the API, after: schema, retries: 2, prompt: "Build the API on the schema.\nfake: usage 60000 2000 0.30\nfake: say writing the routes\nfake: hang"}
  - {id: page, name: "Build the page 日本語", after: schema, prompt: "fake: ask Which port shall the page use? | 80 | 8080\nfake: hang"}
  - {id: mail, name: Send mail, after: schema, prompt: "fake: fail the mail server refused"}
  - {id: docs, after: [api], prompt: "fake: say ok"}
  - {id: ship, name: Ship it, after: [page, docs], prompt: "fake: say shipped"}
`,
	"nightly.yaml": `name: nightly
defaults: {agent: fake}
tasks:
  - {id: clean, prompt: "fake: permission Bash rm -rf \e[31mbuild"}
  - {id: hello, shell: "echo hello"}
`,
}

// fleetOf starts a server and one worker, and waits until the worker has done everything in the
// plans that does not need the user.
func fleetOf(t *testing.T) *testProject {
	t.Helper()
	p := newPlace(t, plans)
	p.serve()
	p.worker("build-1")
	p.gaffer("run", "release.yaml", "--detach")
	p.until("one task that waits", func() (string, bool) { ps := p.gaffer("ps"); return ps, strings.Count(ps, "waiting") == 1 })
	p.gaffer("run", "nightly.yaml", "--detach")
	p.until("two tasks that wait, and one at work", func() (string, bool) {
		ps := p.gaffer("ps")
		return ps, strings.Count(ps, "waiting") == 2 && strings.Contains(ps, "writing the routes")
	})
	return p
}

func TestTheFleetAt80x24(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	s := fleetOf(t).watch(80, 24, nil)
	s.shows("fleet-80x24", "2 questions", "● online")
	s.press("?")
	s.shows("help-80x24", "any key goes back")
	s.press("x")
	s.shows("fleet-80x24", "2 questions")

	s.press("Tab", "Down", "Enter")
	s.shows("run-80x24", "writing the routes", "the mail server refused")
	s.press("/", "m", "a", "i", "l")
	s.shows("filter-80x24", "/ mail")
	s.press("Enter", "Enter")
	s.shows("task-80x24", "Attempts (1)", "Log")
	s.press("Escape")
	s.sees("shows only what has this in it")
	s.press("Escape")
	s.shows("run-80x24", "writing the routes")

	// Answer a question with keys. Its agent must continue.
	s.press("a")
	s.shows("question-80x24", "Which port shall the page use?")
	s.press("2")
	s.sees("▸ 2 8080")
	s.press("Enter")
	s.sees("answered ", "/page: 8080")
	s.sees(`The answer to "Which po`, "● running   page")

	// Cancel a task: the screen first names the task, and only y confirms.
	s.press("Down", "Down", "c")
	s.shows("cancel-80x24", "Cancel task page of release 1.4?")
	s.press("n")
	s.sees("nothing was done")
	s.press("c", "y")
	s.sees("cancelled task page of release 1.4", "⊘ cancelled  page")
	s.press("r")
	s.sees("page is queued again")
	s.press("q")
	s.gone()
}

func TestTheFleetAt200x50AndThenOnASmallerScreen(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	s := fleetOf(t).watch(200, 50, nil)
	s.shows("fleet-200x50", "2 questions", "● online")
	s.press("j", "Enter")
	s.shows("question-200x50", "Bash: rm -rf")
	s.press("d", "Enter")
	s.shows("deny-200x50", "Deny what ", "/clean of nightly asks for?")
	s.press("y")
	s.sees("denied what ", "/clean asked for", "1 question,")
	s.press("/", "nightly", "Enter")
	s.sees("Runs (1)", "✗ failed")
	s.press("Enter")
	s.sees("✗ failed", "clean", "denied")
	s.press("Escape")
	s.sees("shows only what has this in it")
	s.press("Escape")
	s.sees("Workers (1)", "Runs (2)")
	s.press("Home", "Tab", "Enter")
	s.shows("run-200x50", "writing the routes")
	s.press("j", "l")
	s.shows("log-200x50", "· writing the routes")
	s.resize(80, 24)
	s.shows("log-80x24", "· writing the routes")
	s.press("l")
	s.sees("Attempts (1)")
	s.press("Escape")
	s.shows("resized-80x24", "writing the routes")
	s.resize(30, 8)
	s.shows("resized-30x8", "● running")
	s.resize(200, 50)
	s.shows("again-200x50", "writing the routes")
}

// The screen shows a run of this machine without colour. The name of a task contains control
// characters, which a server would not accept.
func TestARunOfThisMachineIsWatchedWithoutColour(t *testing.T) {
	t.Parallel()
	hostile := strings.Replace(plans["release.yaml"], "name: Send mail", `name: "Send \e[2J\e]0;x\amail"`, 1)
	p := newPlace(t, map[string]string{"release.yaml": hostile})
	p.gaffer("run", "release.yaml", "--detach")
	s := p.watch(100, 30, []string{"NO_COLOR=1"}, "-")
	s.shows("local-100x30", "writing the routes", "/page asks", "the mail server refused")
	s.press("a")
	s.sees("1 80")
	s.press("Down", "Enter")
	s.sees("answered ", "/page: 80")
	s.press("C")
	s.sees("Cancel run release 1.4 (")
	s.press("y")
	s.sees("⊘ cancelled  ", "cancelled run release 1.4")
	if screen := s.tmux("capture-pane", "-p", "-e"); strings.Contains(screen, "\x1b[") {
		t.Errorf("there is colour in it: %q", screen)
	}
	s.press("C-c")
	s.gone()
}

// If nothing changes but the time, little is written to the terminal and the screen is not redrawn
// completely.
func TestTheScreenDoesNotFlicker(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	s := fleetOf(t).watch(80, 24, nil)
	s.sees("2 questions", "● online")
	written := filepath.Join(s.dir, "written")
	s.tmux("pipe-pane", "-O", "cat >"+written)
	before := time.Now()
	seen := map[string]bool{}
	s.until("six screens", func() (string, bool) {
		now := s.capture()
		seen[now] = true
		return now, len(seen) > 5
	})
	seconds := int(time.Since(before).Seconds()) + 1
	data, err := os.ReadFile(written)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) == 0 || len(data) > 500*seconds {
		t.Errorf("%d bytes were written in %d s", len(data), seconds)
	}
	if text := string(data); strings.Contains(text, "\x1b[2J") || strings.Contains(text, "Questions") {
		t.Errorf("all is drawn again: %q", text)
	}
}

// If the server cannot be reached, the screen keeps the last state, and connects again by itself.
func TestAServerThatIsAwayIsWaitedFor(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t, plans)
	server := p.serve()
	p.worker("build-1")
	p.gaffer("run", "release.yaml", "--detach")
	s := p.watch(100, 24, nil)
	s.sees("/page  ", "● live")
	if err := server.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.sees("✗ away since ", "/page  ")
	s.press("Enter", "1", "Enter")
	s.sees("✗ server ", "cannot be reached", "> 1")
	p.serve()
	s.sees("● live")
	s.press("Enter")
	s.sees("answered ", "/page: 80")
	s.sees("✓ no agent waits for you")
}
