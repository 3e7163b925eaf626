package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// setCancelled sets an agent in a session's document to cancelled, as another program would, under
// the protocol's lock. An empty agent means the whole session.
func (p testProject) setCancelled(run, agent string) {
	p.t.Helper()
	path := filepath.Join(p.root, ".founder-mode", "status", "sessions", run, "status.json")
	err := statefile.New(path, statefile.Options{Locking: statefile.Folder}).Update(p.t.Context(), func(doc *jsontree.Doc) error {
		if agent == "" {
			doc.Root().Set("status", "cancelled")
			return nil
		}
		for _, a := range doc.Root().Child("agents").Items() {
			if a.Get("id").Text() == agent {
				a.Set("status", "cancelled")
			}
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

func TestASessionOrAnAgentThatAnotherProgramSetsToCancelledIsCancelled(t *testing.T) {
	for agent, want := range map[string]string{"": "cancelled cancelled cancelled", "long": "cancelled cancelled complete"} {
		t.Run("agent "+agent, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			a := p.open()
			defer a.Close()
			run, err := a.Submit(t.Context(), plan.Plan{Name: "x", Source: plan.SourceOrchestrate, OnFailure: plan.Continue, Tasks: []plan.Task{
				shell("long", "touch began; exec sleep 600"), shell("after", "true", "long"),
				shell("other", "until test -f go; do sleep 0.05; done"),
			}})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan fleet.Run, 1)
			go func() {
				r, err := a.Runs.Work(t.Context(), run)
				if err != nil {
					t.Error(err)
				}
				ended <- r
			}()
			testenv.Wait(t, "the agent", func() error {
				_, err := os.Stat(filepath.Join(p.root, "began"))
				return err
			})
			p.setCancelled(run, agent)
			if agent != "" {
				p.write("go", "")
			}
			select {
			case r := <-ended:
				var statuses []string
				for _, task := range r.Tasks {
					statuses = append(statuses, string(task.Status))
				}
				if got := strings.Join(statuses, " "); got != want {
					t.Errorf("the tasks are %s, want %s", got, want)
				}
			case <-time.After(time.Minute):
				_ = a.Fleet.Cancel(t.Context(), run, "", "the test is over")
				t.Errorf("the agent runs on; the run ended as %+v", <-ended)
			}
			if text := p.notices.String(); !strings.Contains(text, "set to cancelled by another program") {
				t.Errorf("told was %q", text)
			}
		})
	}
}
