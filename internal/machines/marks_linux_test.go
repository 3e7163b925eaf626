package machines

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/store"
	"gaffer/internal/store/postgres"
)

// stored is what the database says in the end.
type stored struct {
	tasks    map[string]store.Task
	attempts map[string][]store.Attempt // of each task
	events   []store.Event
}

func (f *fleet) stored(run string) stored {
	f.t.Helper()
	db, err := postgres.Open(f.t.Context(), f.db.Local)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // nothing was written
	s := stored{tasks: map[string]store.Task{}, attempts: map[string][]store.Attempt{}}
	err = db.Read(f.t.Context(), func(r store.Reader) error {
		list, err := r.Tasks(run)
		for _, t := range list {
			s.tasks[t.Task] = t
		}
		if err != nil {
			return err
		}
		attempts, err := r.AttemptsOf(run)
		for _, a := range attempts {
			s.attempts[a.Task] = append(s.attempts[a.Task], a)
		}
		if err != nil {
			return err
		}
		s.events, err = r.Events(0, 1_000_000)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// checkMarks compares what a task left behind with what the store says of it: it
// is complete, by one attempt, which came to its end once, and after an attempt
// had begun none before it did anything any more.
func (f *fleet) checkMarks(t *testing.T, s stored, task string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(f.marks, task))
	if err != nil {
		t.Errorf("task %s: %v", task, err)
		return
	}
	count := map[string]int{} // of "what attempt"
	var order []string        // of attempts
	late := map[string]bool{} // attempts that went on after another had begun
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		count[line]++
		what, attempt, _ := strings.Cut(line, " ")
		if what != "step" && count[line] > 1 {
			t.Errorf("task %s: attempt %s has %d times the mark %s", task, attempt, count[line], what)
		}
		switch at := slices.Index(order, attempt); {
		case at < 0:
			order = append(order, attempt)
		case at != len(order)-1 && !late[attempt]:
			late[attempt] = true
			t.Errorf("task %s: attempt %s goes on (%s) after attempt %s has begun", task, attempt, what, order[len(order)-1])
		}
	}
	s.check(t, task, order, count)
}

func (s stored) check(t *testing.T, task string, order []string, count map[string]int) {
	t.Helper()
	if row, ok := s.tasks[task]; !ok || row.Status != store.Complete {
		t.Errorf("task %s is %q", task, row.Status)
	}
	var complete []string
	for _, a := range s.attempts[task] {
		if a.Status == store.Complete {
			complete = append(complete, a.ID)
		}
	}
	switch {
	case len(complete) != 1:
		t.Errorf("task %s: the attempts %q are complete, want one", task, complete)
	case count["end "+complete[0]] != 1:
		t.Errorf("task %s: attempt %s is complete and came %d times to its end", task, complete[0], count["end "+complete[0]])
	case order[len(order)-1] != complete[0]:
		t.Errorf("task %s: attempt %s began after %s, which is complete", task, order[len(order)-1], complete[0])
	}
}

// seqs are the numbers of the events that everybody who follows the run must be
// told: each change of one of its tasks.
func (s stored) seqs(run string) (all, tasks []int64) {
	for _, e := range s.events {
		all = append(all, e.Seq)
		if e.Run == run && strings.HasPrefix(e.Kind, "task.") && e.To != "" {
			tasks = append(tasks, e.Seq)
		}
	}
	return all, tasks
}
