package browser

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
)

// local runs a plan on the server's machine, but without the server. It returns the run's id. If
// flags contain --detach, it also returns the pid of the process that works on the run.
func (w *world) local(plan string, flags ...string) (id string, pid int) {
	w.Helper()
	file := filepath.Join(w.dir, "plan.yaml")
	w.must(os.WriteFile(file, []byte(plan), 0o600))
	text, _ := w.command(append([]string{"run", file, "--json"}, flags...)...).Output() // ignore the error: the exit code says how the run ended
	var out struct {
		ID, Run string
		PID     int
	}
	if err := json.Unmarshal(text, &out); err != nil {
		w.Fatalf("%v in %s", err, text)
	}
	return out.ID + out.Run, out.PID
}

func TestATaskIsRetriedByClickInARunThatNoProcessWorksOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, _ := w.local("name: mended\ntasks:\n  - {id: bad, shell: \"test -e mended\"}\n")
	p := w.open("#/runs/" + id)
	p.Sees("✗\nfailed")
	w.must(os.WriteFile(filepath.Join(w.dir, "mended"), nil, 0o600))
	p.Click("Retry the failed task…")
	p.Click("Retry")
	p.Wait("the run is complete", `document.querySelector('.run-head .status').innerText.includes('complete')`)
}

func TestARunWhoseProcessWasKilledSaysSoAndIsResumedByClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate := filepath.Join(w.dir, "gate")
	id, pid := w.local("name: orphan\ntasks:\n  - {id: gate, shell: \"until test -e gate; do sleep 0.1; done\"}\n  - {id: next, shell: \"true\", after: gate}\n", "--detach")
	p := w.open("#/runs/" + id)
	p.Wait("it runs", `document.querySelector('.row .status')?.innerText.includes('running')`)
	p.SeesNot("No gaffer works on this run")
	testenv.Signal(w, pid, syscall.SIGKILL)
	p.Sees("No gaffer works on this run", "gaffer resume "+id)
	p.looks("run-unattended")
	p.Click("Resume")
	p.Sees("Resumed: orphan")
	p.Wait("it says so no more", `!document.body.innerText.includes('No gaffer works on this run')`)
	w.must(os.WriteFile(gate, nil, 0o600))
	if run := w.ends(id); run.Status != fleet.Complete {
		t.Errorf("the run is %s", run.Status)
	}
	p.Wait("the run is complete", `document.querySelector('.run-head .status').innerText.includes('complete')`)
	if text := p.Text(); strings.Contains(text, "No gaffer works") {
		t.Errorf("a run that has ended needs no process:\n%s", text)
	}
}

// After a restart the server first sends which processes are alive, and then what has changed. The
// page needs both.
func TestAPageWhoseServerWasAwaySeesThatNoProcessWorksOnARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, _ := w.local("name: late\ntasks:\n  - {id: bad, shell: \"false\"}\n")
	p := w.open("#/runs/" + id)
	p.Sees("✗\nfailed")
	w.restart(func() {
		if out, err := w.command("retry", id+"/bad").CombinedOutput(); err != nil {
			t.Fatalf("retry: %v\n%s", err, out)
		}
	})
	p.Sees("No gaffer works on this run")
}

func TestAPageThatWasOpenedWhileTheServerWasAwayIsShownLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, _ := w.local("name: one\ntasks: [{id: first, shell: \"true\"}]\n")
	two, _ := w.local("name: two\ntasks: [{id: second, shell: echo hello}]\n")
	p := w.open("#/runs/" + one)
	p.Sees("first")
	w.restart(func() {
		p.Visit("#/runs/" + two)
		p.Sees("The server does not answer.")
	})
	p.Sees("second")
	p.SeesNot("The server does not answer.")
	w.restart(func() {
		p.Visit(task(two, "second"))
		p.Sees("This page could not be loaded from the server.")
	})
	p.Sees("hello")
}
