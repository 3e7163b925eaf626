package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/flow/teamsession"
	"gaffer/internal/testkit/testenv"
	"gaffer/team"
)

// starts3 is how many agents the scenario with three groups starts.
const starts3 = 12

// If gaffer is killed between two starts of agents, the next gaffer must continue as if nothing had
// happened.
func TestATeamComesToTheSameEndHoweverOftenGafferIsKilled(t *testing.T) {
	testenv.Integration(t)
	const atOnce = 2
	kills := make(chan int, starts3)
	for k := 1; k <= starts3; k++ {
		if !underRace || k == 6 { // with the race detector, run only one case; script/test runs all without it
			kills <- k
		}
	}
	close(kills)
	for range atOnce {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for k := range kills {
				if t.Failed() {
					return
				}
				t.Run(fmt.Sprintf("after start %d", k), func(t *testing.T) {
					c, a, run := threeGroups(t)
					c.killWhen(run, func(s team.Snapshot) bool { return s.Orchestrator.TotalSpawns >= k })
					c.sameEnd(a, run)
				})
			}
		})
	}
}

func TestATeamComesToTheSameEndKilledAtEachThingThatHappens(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	c, a, run := threeGroups(t)
	for seen, kills := 0, 0; ; kills++ {
		ended := false
		c.killWhen(run, func(s team.Snapshot) bool {
			ended = s.Orchestrator.Status == team.SessionCompleted
			last := seen
			seen = max(seen, s.PM.Iteration)
			return ended || seen > last
		})
		if ended {
			t.Logf("killed %d times", kills)
			break
		}
	}
	c.sameEnd(a, run)
}

func threeGroups(t *testing.T) (c crew, a *app.App, run string) {
	t.Helper()
	c = newCrew(t, play(t, "three"))
	a = c.open()
	return c, a, c.begin(a, teamsession.Request{Requirements: listed}).Run
}

// killWhen starts a process that works on a run, and kills it when match returns true for the
// documents.
func (c crew) killWhen(run string, match func(team.Snapshot) bool) {
	c.t.Helper()
	g := c.gaffer(run)
	defer func() {
		_ = g.Process.Kill()
		_ = g.Wait()
	}()
	// Poll every millisecond instead of with testenv.Wait, because the state may be short.
	for deadline := time.Now().Add(testenv.Patience); !match(c.session()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("it does not happen: %+v\n%s", c.session().Orchestrator, g.Stderr)
		}
	}
}

// sameEnd lets another process finish the run, and fails unless the result is the same as with one
// process.
func (c crew) sameEnd(a *app.App, run string) {
	c.t.Helper()
	again, err := a.Teams.Resume(c.t.Context(), teamsession.Request{})
	if done := c.session().Orchestrator.Status == team.SessionCompleted; err != nil && !done || err == nil && again != run {
		c.t.Fatalf("resumed is %q, %v, want %s", again, err, run)
	}
	if out, err := c.gaffer(run).output(); err != nil || strings.TrimSpace(out) != "" {
		c.t.Errorf("resume: %v\n%s", err, out)
	}
	r, err := a.Fleet.Run(c.t.Context(), run)
	if err != nil {
		c.t.Fatal(err)
	}
	c.completed(r)
	c.startedOnce(r)
	c.valid()
	c.golden("three", true, false)
	for _, t := range r.Tasks {
		if t.Status != fleet.Complete || t.Tries != 1 {
			c.t.Errorf("%s is %s after %d tries", t.ID, t.Status, t.Tries)
		}
	}
}

func TestAMergeContinuesAfterGafferIsKilledDuringItsTests(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	c := newCrew(t, small)
	a := c.open()
	tests := "echo >> " + c.dir + "/tests && touch " + c.dir + "/test.waits && until [ -e " + c.dir + "/go ]; do sleep 0.01; done"
	run := c.begin(a, teamsession.Request{Tests: []string{tests}}).Run
	g := c.gaffer(run)
	c.waiting(1)
	_ = g.Process.Kill()
	_ = g.Wait()
	c.release()
	r := c.finish(a, run)
	c.completed(r)
	c.startedOnce(r)
	if text, err := os.ReadFile(filepath.Join(c.dir, "tests")); err != nil || string(text) != "\n" {
		t.Errorf("the tests were run %q, %v", text, err)
	}
}
