package machines

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres"
)

// stored is the content of the database at the end of the test.
type stored struct {
	tasks    map[string]store.Task
	attempts map[string][]store.Attempt // attempts by the id of their task
	events   []store.Event
}

func (f *fleet) stored(run string) stored {
	f.t.Helper()
	db, err := postgres.Open(f.t.Context(), f.db.Local)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // ignore the error: nothing was written
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

// checkMarks compares the marks that the attempts of a task wrote with the task's rows. The task
// must be complete, and exactly one attempt must have finished. Once an attempt had started,
// earlier ones must not have written marks.
func (f *fleet) checkMarks(t *testing.T, s stored, task string) {
	t.Helper()
	marks, wrong := readMarks(filepath.Join(f.marks, task))
	for _, problem := range append(wrong, marks.check(s.tasks[task], s.attempts[task])...) {
		t.Errorf("task %s: %s", task, problem)
	}
}

// marks holds the marks that the attempts of a task wrote.
type marks struct {
	count map[string]int // how often each mark, such as "begin ATTEMPT", was written
	order []string       // ids of the attempts, in the order of their first mark
}

// readMarks reads the marks from a file. It also returns what is wrong with them: an attempt that
// started or finished twice, or that continued after another had started.
func readMarks(file string) (m marks, wrong []string) {
	m.count = map[string]int{}
	data, err := os.ReadFile(file)
	if err != nil {
		return m, []string{err.Error()}
	}
	late := map[string]bool{} // ids of the attempts that continued after another had started
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		m.count[line]++
		what, attempt, _ := strings.Cut(line, " ")
		if what != "step" && m.count[line] > 1 {
			wrong = append(wrong, fmt.Sprintf("attempt %s has %d times the mark %s", attempt, m.count[line], what))
		}
		switch at := slices.Index(m.order, attempt); {
		case at < 0:
			m.order = append(m.order, attempt)
		case at != len(m.order)-1 && !late[attempt]:
			late[attempt] = true
			wrong = append(wrong, fmt.Sprintf("attempt %s goes on (%s) after attempt %s has begun", attempt, what, m.order[len(m.order)-1]))
		}
	}
	return m, wrong
}

// check returns the differences between the marks and the rows of a task. The task must be
// complete.
func (m marks) check(row store.Task, attempts []store.Attempt) (wrong []string) {
	if row.Status != store.Complete {
		wrong = append(wrong, fmt.Sprintf("is %q, want %q", row.Status, store.Complete))
	}
	var complete []string
	for _, a := range attempts {
		if a.Status == store.Complete {
			complete = append(complete, a.ID)
		}
	}
	switch {
	case len(complete) != 1:
		wrong = append(wrong, fmt.Sprintf("the attempts %q are complete, want one", complete))
	case m.count["end "+complete[0]] != 1:
		wrong = append(wrong, fmt.Sprintf("attempt %s is complete and came %d times to its end", complete[0], m.count["end "+complete[0]]))
	case m.order[len(m.order)-1] != complete[0]:
		wrong = append(wrong, fmt.Sprintf("attempt %s began after %s, which is complete", m.order[len(m.order)-1], complete[0]))
	}
	return wrong
}

// seqs returns the numbers of all events, and the numbers of those that every follower must
// receive: each change of a task of the run.
func (s stored) seqs(run string) (all, tasks []int64) {
	for _, e := range s.events {
		all = append(all, e.Seq)
		if e.Run == run && strings.HasPrefix(e.Kind, "task.") && e.To != "" {
			tasks = append(tasks, e.Seq)
		}
	}
	return all, tasks
}
