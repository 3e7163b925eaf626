package recorder_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/session"
)

// each runs a test on every story in stories.
func each(t *testing.T, test func(t *testing.T, name string, tell story)) {
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) { test(t, name, tell) })
	}
}

func never(string) {}

// told returns a world in which the whole story has happened.
func told(t *testing.T, tell story) *world {
	w := newWorld(t)
	tell(w, never)
	return w
}

// documents returns the documents that a recorder writes after the whole story, by path.
func documents(t *testing.T, tell story) map[string]string {
	p := newProject(t)
	p.flush(told(t, tell).store)
	return p.files()
}

const statusName = ".founder-mode/status/sessions/" + runID + "/status.json"

func TestTheDocumentsAtEveryMoment(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, name string, tell story) {
		w, p := newWorld(t), newProject(t)
		name = strings.ReplaceAll(name, " ", "-")
		tell(w, func(moment string) {
			p.flush(w.store)
			p.valid(false)
			golden(t, name+"/"+strings.ReplaceAll(moment, " ", "-")+".json", p.files()[statusName])
		})
		p.flush(w.store)
		p.valid(true)
		var records strings.Builder
		files := p.files()
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if path != statusName {
				records.WriteString("-- " + path + " --\n" + files[path])
			}
		}
		if records.Len() > 0 {
			golden(t, name+"/records.txt", records.String())
		}
	})
}

func TestARecorderThatFlushesAfterEveryEventWritesTheSame(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ string, tell story) {
		w, p := told(t, tell), newProject(t)
		seen := &upTo{Store: w.store}
		r := p.recorder(seen)
		for n := range w.events() {
			seen.last = int64(n + 1)
			must(t, r.Flush(context.Background()))
			p.valid(false)
		}
		p.same(documents(t, tell), "event by event")
	})
}

func TestARecorderThatDiesAfterAnyEventIsFollowedByOneThatWritesTheSame(t *testing.T) {
	t.Parallel()
	deaths := map[string]func(upTo) store.Store{
		"after its cursor":  func(s upTo) store.Store { return s },
		"before its cursor": func(s upTo) store.Store { return forgetful{s} },
	}
	each(t, func(t *testing.T, _ string, tell story) {
		want := documents(t, tell)
		for when, died := range deaths {
			w, p := told(t, tell), newProject(t)
			for n := range w.events() {
				p.flush(died(upTo{w.store, int64(n + 1)}))
			}
			p.same(want, when)
		}
	})
}

func TestEverythingWrittenTwiceIsTheSame(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ string, tell story) {
		w, p := told(t, tell), newProject(t)
		for n := range w.events() {
			r := p.recorder(upTo{w.store, int64(n + 1)})
			must(t, r.Flush(context.Background()))
			once := p.files()
			must(t, r.Rebuild(context.Background()))
			p.same(once, "rebuilt")
			p.flush(forgetful{upTo{w.store, int64(n + 1)}})
			p.same(once, "by another recorder")
		}
	})
}

func TestARunIsRecordedWhileItIsRunning(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ string, tell story) {
		w, p := newWorld(t), newProject(t)
		r, ended := p.recorder(w.store), make(chan error, 1)
		begin := sync.OnceFunc(func() { go func() { ended <- r.Run(t.Context()) }() })
		tell(w, func(string) { begin() })
		begin()
		must(t, <-ended)
		must(t, r.Flush(t.Context()))
		p.same(documents(t, tell), "live")
	})
}

func TestSeveralRecordersOfOneRunWriteWhatIsTrueInTheEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ string, tell story) {
		w, p := newWorld(t), newProject(t)
		p.session = session.New(p.session.Root(), session.Options{LogPrefix: ".founder-mode/status"})
		var all sync.WaitGroup
		over := make(chan struct{})
		begin := sync.OnceFunc(func() {
			for range 3 {
				all.Go(func() {
					r := p.recorder(w.store)
					err := r.Run(t.Context())
					<-over
					if err := errors.Join(err, r.Flush(t.Context())); err != nil {
						t.Error(err)
					}
				})
			}
		})
		tell(w, func(string) { begin() })
		begin()
		close(over)
		all.Wait()
		p.same(documents(t, tell), "by several")
	})
}

func TestEverythingIsRebuiltFromTheStore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ string, tell story) {
		w, p := told(t, tell), newProject(t)
		p.flush(w.store)
		want := p.files()
		must(t, os.RemoveAll(filepath.Join(p.dir, ".founder-mode")))
		must(t, os.RemoveAll(filepath.Join(p.dir, "state")))
		must(t, p.recorder(w.store).Rebuild(t.Context()))
		p.same(want, "rebuilt")
	})
}

func TestTasksOfAnyNameHaveRecordsOfTheirOwn(t *testing.T) {
	t.Parallel()
	names := []string{
		"a", "bd-a", "a.attempt-1", "a-attempt-1", "a.attempt-1.attempt-2", "a.json", "a b", "ä",
		strings.Repeat("x", 199) + "y", strings.Repeat("x", 199) + "z", strings.Repeat("ä", 100), "CON", "a-verify",
	}
	w, p := newWorld(t), newProject(t)
	all := plan.Plan{Source: "orchestrate"}
	for _, name := range names {
		all.Tasks = append(all.Tasks, task(name, 1))
	}
	w.submit(all)
	for range names {
		w.complete(0)
	}
	p.flush(w.store)
	p.valid(true)
	if got := len(p.files()); got != 2*len(names)+1 {
		t.Errorf("%d files, want %d", got, 2*len(names)+1)
	}
}

func TestAPromptInTheProjectIsNamedFromItsRoot(t *testing.T) {
	t.Parallel()
	w, p := newWorld(t), newProject(t)
	var all plan.Plan
	for id, file := range map[string]string{
		"inside": "/home/sam/shop/prompts/x.md", "outside": "/home/sam/x.md", "relative": "p/x.md", "none": "",
	} {
		all.Tasks = append(all.Tasks, plan.Task{ID: id, PromptFile: file})
	}
	w.submit(all)
	p.flush(w.store)
	want := map[string]string{"inside": "prompts/x.md", "outside": "/home/sam/x.md", "relative": "p/x.md", "none": ""}
	for _, a := range p.status().Agents {
		if a.PromptPath != want[a.ID] || a.Model != "claude" || a.Name != a.ID {
			t.Errorf("%+v", a)
		}
	}
}
