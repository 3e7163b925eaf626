package watch

import (
	"context"
	"errors"
	"io"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/testkit/testenv"
	screen "gaffer/internal/ui/tui/watch"
)

// starting is a fleet with a task whose attempt gets the path of its log only after a moment.
type starting struct{ openfleet.Fleet }

func (starting) Task(context.Context, string, string) (fleet.Task, error) { return fleet.Task{}, nil }

func (starting) Attempts(context.Context, string, string) ([]fleet.Attempt, error) { return nil, nil }

func (starting) Log(_ context.Context, t fleet.Task, to io.Writer, _ fleet.LogQuery) error {
	if t.Attempt.Log == "" {
		return errors.New("has no log")
	}
	_, err := io.WriteString(to, "hello\n")
	return err
}

func TestTheLogOfAStartingTaskIsReadOnceItExists(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	sent := make(chan any, 100)
	f := &feed{fleet: starting{}, send: func(what any) { sent <- what }}
	changed := make(chan fleet.Task, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.followTask(ctx, screen.Focus{Run: "r", Task: "api"}, changed)
	}()
	until := func(holds func(screen.Log) bool) {
		t.Helper()
		for {
			select {
			case what := <-sent:
				if l, ok := what.(screen.Log); ok && holds(l) {
					return
				}
			case <-ctx.Done():
				t.Fatal("nothing was sent")
			}
		}
	}
	task := fleet.Task{Run: "r", ID: "api", Status: fleet.Running, Attempt: &fleet.Attempt{ID: "a1"}}
	changed <- task
	until(func(l screen.Log) bool { return l.Problem == "has no log" })
	task.Attempt = &fleet.Attempt{ID: "a1", Process: fleet.Process{Log: "api.log"}}
	changed <- task
	until(func(l screen.Log) bool { return len(l.Lines) == 1 && l.Lines[0] == "hello" })
	cancel()
	<-done
}
