package app_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/app"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// Another machine can write rows of a shared database. So a server must not run the commands of a
// run only because its row names this machine.
func TestSecurityAServerStartsNothingForARunThatThisMachineHasNotBegun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.open()
	defer a.Close()
	id, err := a.Submit(t.Context(), plan.Plan{Name: "n", Tasks: []plan.Task{shell("a", "true"), shell("b", "true")}})
	if err != nil {
		t.Fatal(err)
	}
	c := p.coordinate()
	err = c.Runs.Cancel(t.Context(), credential.Identity{Role: credential.Operator}, id, "b", "")
	want := "it is cancelled, but no gaffer works on run " + id + ", and none was started: no gaffer of this machine has begun it; 'gaffer resume " + id + "' in " + p.root + " continues it"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if _, err := os.Stat(filepath.Join(p.home, "gaffer", "runs", id+".log")); err == nil {
		t.Error("a process was started")
	}
}

func TestABackgroundProcessThatEndsAtOnceIsReportedWithItsErrorAndTheCommandToContinue(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	a := p.open()
	defer a.Close()
	id, err := a.Submit(t.Context(), plan.Plan{Name: "n", Tasks: []plan.Task{shell("a", "sleep 600"), shell("b", "true", "a")}})
	if err != nil {
		t.Fatal(err)
	}
	working, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := a.Runs.Work(working, id)
		left <- err
	}()
	until(t, "a runs", func() (fleet.Run, error) { return a.Fleet.Run(t.Context(), id) }, func(r fleet.Run) bool { return r.Counts.Running == 1 })
	leave()
	<-left
	defer func() { // cancel the run, which ends the agent
		if err := a.Fleet.Cancel(t.Context(), id, "", ""); err != nil {
			t.Error(err)
		}
		if _, err := a.Runs.Work(t.Context(), id); err != nil {
			t.Error(err)
		}
	}()
	c := p.coordinate()
	err = c.Runs.Cancel(t.Context(), credential.Identity{Role: credential.Operator}, id, "b", "")
	if err == nil || !strings.Contains(err.Error(), "ended at once: no gaffer here; see ") || !strings.Contains(err.Error(), "'gaffer resume "+id+"'") {
		t.Errorf("%v", err)
	}
}

// A machine that shares the database cannot see whether a process on another machine works on a
// run. So it must report neither that one does nor that none does.
func TestARunIsOnlySaidToHaveNoProcessWhereItWasWorkedOn(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	p.db = pgtest.Database(t)
	a := p.open()
	defer a.Close()
	id, err := a.Submit(t.Context(), plan.Plan{Name: "n", Tasks: []plan.Task{shell("a", "sleep 600")}})
	if err != nil {
		t.Fatal(err)
	}
	other := p
	other.home = t.TempDir()
	b := other.open()
	defer b.Close()
	look := func(a *app.App) func() (fleet.Owner, error) {
		return func() (fleet.Owner, error) { r, err := a.Fleet.Run(t.Context(), id); return r.Owner, err }
	}
	unknown := func(when string) {
		t.Helper()
		if owner, err := look(b)(); err != nil || owner != (fleet.Owner{}) {
			t.Errorf("%s the other machine says %+v, %v", when, owner, err)
		}
	}
	working, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := a.Runs.Work(working, id)
		left <- err
	}()
	until(t, "an owner", look(a), func(o fleet.Owner) bool { return o.Alive && !o.Gone })
	until(t, "a runs", func() (fleet.Run, error) { return a.Fleet.Run(t.Context(), id) }, func(r fleet.Run) bool { return r.Counts.Running == 1 })
	unknown("while it is worked on,")
	leave()
	<-left
	if owner, err := look(a)(); err != nil || !owner.Gone || owner.Alive {
		t.Errorf("after the work this machine says %+v, %v", owner, err)
	}
	unknown("after the work")
	if err := b.Background.EnsureProcess(t.Context(), id); err != nil {
		t.Errorf("the other machine: %v", err)
	}
	if err := a.Fleet.Cancel(t.Context(), id, "", ""); err != nil {
		t.Fatal(err)
	}
	if r, err := a.Runs.Work(t.Context(), id); err != nil || r.Owner.Gone {
		t.Errorf("after its end: %+v, %v", r.Owner, err)
	}
}

func TestAMessageContinuesALocalRunThatHasEnded(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	a := p.open()
	defer a.Close()
	id, err := a.Submit(t.Context(), plan.Plan{Name: "n", Tasks: []plan.Task{{ID: "a", Agent: "fake", Prompt: "fake: say done"}}})
	if err != nil {
		t.Fatal(err)
	}
	work := func() {
		t.Helper()
		if r, err := a.Runs.Work(t.Context(), id); err != nil || r.Status != fleet.Complete {
			t.Fatalf("the run is %s, %v", r.Status, err)
		}
	}
	work()
	sent, err := a.Fleet.Send(t.Context(), fleet.Message{Run: id, Task: "a", Text: "fake: say more"})
	if err != nil {
		t.Fatal(err)
	}
	err = a.Background.EnsureProcess(t.Context(), id)
	if err == nil || !strings.Contains(err.Error(), "ended at once: no gaffer here") { // the error shows that the process was started
		t.Errorf("no process was started: %v", err)
	}
	work()
	attempts, err := a.Fleet.Attempts(t.Context(), id, "a")
	if err != nil || len(attempts) != 2 || attempts[0].Thread == "" || attempts[1].Thread != attempts[0].Thread || attempts[1].Summary != "more" {
		t.Errorf("the attempts are %+v, %v", attempts, err)
	}
	list, err := a.Fleet.Messages(t.Context(), id, "a")
	if err != nil || len(list) != 1 || list[0].ID != sent.ID || list[0].Attempt != attempts[1].ID {
		t.Errorf("the messages are %+v, %v", list, err)
	}
}
