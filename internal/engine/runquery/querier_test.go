package runquery_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/plan"
)

// counted is a store that counts how often all tasks of a run are read.
type counted struct {
	store.Store
	all int
}

func (c *counted) Read(ctx context.Context, look func(store.Reader) error) error {
	return c.Store.Read(ctx, func(r store.Reader) error { return look(counting{r, c}) })
}

type counting struct {
	store.Reader
	c *counted
}

func (c counting) Tasks(run string) ([]store.Task, error) {
	c.c.all++
	return c.Reader.Tasks(run)
}

func newEngine(s store.Store) *engine.Engine {
	ids := 0
	return engine.New(s, engine.Options{
		Now: time.Now, Rand: func() float64 { return 0.5 }, NewID: func() string { ids++; return fmt.Sprint("id", ids) },
	})
}

func many(n int) (p plan.Plan) {
	p.Name = "many"
	for i := range n {
		p.Tasks = append(p.Tasks, plan.Task{ID: fmt.Sprint("t", i), Prompt: "x"})
	}
	return p
}

func TestAFollowerReadsOnlyWhatHasChanged(t *testing.T) {
	s := &counted{Store: memory.New()}
	e, l, ctx := newEngine(s.Store), runquery.New(s, runquery.Options{}), context.Background()
	run, err := e.Submit(ctx, engine.Submission{Plan: many(500)})
	if err != nil {
		t.Fatal(err)
	}
	seen, enough := 0, errors.New("enough")
	err = l.Follow(ctx, run, time.Millisecond, func(v fleet.Run) error {
		if v.Counts.Complete != seen {
			t.Errorf("%d are complete, want %d", v.Counts.Complete, seen)
		}
		if seen++; seen > 20 {
			fresh, err := l.Run(ctx, run)
			if diff := cmp.Diff(fresh, v); diff != "" || err != nil {
				t.Errorf("followed and fresh differ: %v (-fresh +followed)\n%s", err, diff)
			}
			return enough
		}
		a, err := e.Claim(ctx, engine.Claim{Worker: "w"})
		if err != nil {
			return err
		}
		_, err = e.Finish(ctx, engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token})
		return err
	})
	if !errors.Is(err, enough) || s.all != 2 { // Follow reads all tasks once at its start, and Run once
		t.Errorf("%v; all tasks were read %d times", err, s.all)
	}
}

func TestWhatIsHiddenIsInNoList(t *testing.T) {
	s := memory.New()
	e, ctx := newEngine(s), context.Background()
	for _, id := range []string{"20260101-000000-aaaa", "hidden", "20260102-000000-bbbb"} {
		if _, err := e.Submit(ctx, engine.Submission{ID: id, Project: "p", Plan: many(2)}); err != nil {
			t.Fatal(err)
		}
	}
	l := runquery.New(s, runquery.Options{Hide: func(run store.Run) bool { return run.ID == "hidden" }})
	for _, project := range []string{"", "p"} {
		list, err := l.Runs(ctx, project, true)
		if err != nil || len(list) != 2 || list[0].ID != "20260102-000000-bbbb" || len(list[0].Tasks) != 2 {
			t.Errorf("of %q: %d, %v", project, len(list), err)
		}
		short, err := l.Summaries(ctx, project, true, 1)
		if err != nil || len(short) != 1 || short[0].Counts.Total != 2 || len(short[0].Tasks) != 0 {
			t.Errorf("of %q: %+v, %v", project, short, err)
		}
	}
	if _, err := l.FindRun(ctx, "p", "hid", false); err == nil {
		t.Error("it is found by a part of its id")
	}
	if id, err := l.FindRun(ctx, "p", "bb", false); err != nil || id != "20260102-000000-bbbb" {
		t.Errorf("bb is %s, %v", id, err)
	}
	if _, err := l.FindRun(ctx, "p", "2026", false); !errors.As(err, new(*runquery.AmbiguousError)) {
		t.Errorf("2026: %v", err)
	}
}

func TestATaskOfThatNameGoesBeforeOneThatBeginsLikeIt(t *testing.T) {
	s := memory.New()
	e, l, ctx := newEngine(s), runquery.New(s, runquery.Options{}), context.Background()
	for _, run := range [][]string{
		{"20260101-000000-aaaa", "api", "docs"},
		{"20260102-000000-bbbb", "api", "docs-old"},
		{"20260103-000000-cccc", "api-tests", "docs-new", "docs-more"},
	} {
		var p plan.Plan
		for _, id := range run[1:] {
			p.Tasks = append(p.Tasks, plan.Task{ID: id, Prompt: "x"})
		}
		if _, err := e.Submit(ctx, engine.Submission{ID: run[0], Project: "p", Plan: p}); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"api":      "20260102-000000-bbbb/api",
		"api-":     "20260103-000000-cccc/api-tests",
		"docs":     "20260101-000000-aaaa/docs",
		"docs-o":   "20260102-000000-bbbb/docs-old",
		"aaaa/api": "20260101-000000-aaaa/api",
	} {
		if task, err := l.FindTask(ctx, "p", name); err != nil || task.Run+"/"+task.ID != want {
			t.Errorf("%s is %s/%s, %v, want %s", name, task.Run, task.ID, err, want)
		}
	}
	for _, name := range []string{"doc", "-", "aaaa/-"} {
		if _, err := l.FindTask(ctx, "p", name); !errors.As(err, new(*runquery.AmbiguousError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// An unset variable in a script must not choose a task: 'gaffer discard "$TASK"'.
	for _, name := range []string{"web", "", "aaaa/", "/"} {
		if task, err := l.FindTask(ctx, "p", name); !errors.As(err, new(*runquery.NotFoundError)) {
			t.Errorf("%q: found %s, %v", name, task.ID, err)
		}
	}
}

func TestRunningAttemptsHaveTheirMessages(t *testing.T) {
	t.Parallel()
	s := memory.New()
	e, ctx := newEngine(s), context.Background()
	run, err := e.Submit(ctx, engine.Submission{Plan: many(2)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := e.Claim(ctx, engine.Claim{Worker: "w"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, text := range []string{"one", "two"} {
		m, err := e.Send(ctx, fleet.Message{Run: run, Task: a.Task.Task, Text: text})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	if _, err := e.Beat(ctx, store.Worker{ID: "w"}, []engine.HeldAttempt{{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Delivered: ids[:1]}}); err != nil {
		t.Fatal(err)
	}
	err = s.Read(ctx, func(r store.Reader) error {
		list, err := runquery.Running(r, run)
		if len(list) != 1 || len(list[0].Messages) != 1 || list[0].Messages[0].ID != ids[1] || len(list[0].Earlier) != 1 {
			t.Errorf("running are %+v", list)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
