package prune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/internal/desk"
	"gaffer/internal/recorder"
	"gaffer/internal/store"
)

// Taking is how what was found is taken away.
type Taking struct {
	Now func() time.Time
	Who string
	// Hold makes sure that nobody works on a run while it goes; an error leaves
	// the run as it is, and is told. Gone is called for each run that has gone.
	Hold func(run string) (release func(), err error)
	Gone func(run string)
	Tell func(text string)
}

// Take takes away what was found, as far as it is still so, and returns how much
// that was.
func Take(ctx context.Context, s store.Store, f Found, how Taking) (Counts, error) {
	t := &taker{store: s, found: f, Taking: how}
	for _, take := range []func(context.Context) error{
		t.takeRest, t.takeRuns, t.takeEvents, t.takeTasks, t.takeItems, t.takeWorkers, t.takePromises, t.tell,
	} {
		if err := take(ctx); err != nil {
			return t.done, err
		}
	}
	return t.done, nil
}

// taker is one go at it.
type taker struct {
	Taking
	store store.Store
	found Found
	done  Counts
}

// take takes away what choose says, in a transaction, and counts it.
func (t *taker) take(ctx context.Context, need store.Need, counted *int, choose func(tx *store.Tx) (store.Gone, int, error)) error {
	n := 0
	err := t.store.Write(ctx, need, func(tx *store.Tx) error {
		gone, count, err := choose(tx)
		n = count
		if err == nil {
			tx.TakeAway(gone)
		}
		return err
	})
	if err == nil {
		*counted += n
	}
	return err
}

// markKind is the kind of the items that name runs of which only the rest is
// there.
const markKind = "pruning"

func mark(run string) store.ItemKey { return store.ItemKey{Kind: markKind, ID: run} }

func (t *taker) takeRest(ctx context.Context) error {
	for _, id := range t.found.rest {
		if err := t.finish(ctx, id); err != nil {
			return fmt.Errorf("what is left of run %s: %w", id, err)
		}
	}
	return nil
}

func (t *taker) takeRuns(ctx context.Context) error {
	for _, run := range t.found.Ended {
		release, err := t.Hold(run.ID)
		if err != nil {
			t.Tell(fmt.Sprintf("run %s stays: %v", run.ID, err))
			continue
		}
		gone, err := t.takeRun(ctx, run.ID)
		if err == nil && gone {
			t.Gone(run.ID)
		}
		release()
		if err != nil {
			return fmt.Errorf("run %s: %w", run.ID, err)
		}
	}
	return nil
}

// takeRun takes a run away, unless it goes on by now. From its first transaction
// on nobody finds it.
func (t *taker) takeRun(ctx context.Context, id string) (gone bool, err error) {
	err = t.take(ctx, store.Need{Alone: true, Runs: []string{id}}, &t.done.Runs, func(tx *store.Tx) (store.Gone, int, error) {
		gone = false
		run, err := tx.Run(id)
		if errors.Is(err, store.ErrNotFound) || err == nil && !(run.Status.Final() && run.Ended.Before(t.found.Before)) {
			return store.Gone{}, 0, nil
		}
		gone = err == nil
		tx.PutItem(store.Item{ItemKey: mark(id), Seq: tx.NextSeq(), Made: t.Now()})
		return store.Gone{Runs: []string{id}, Cursors: []string{recorder.CursorOf(id)}}, 1, err
	})
	if err != nil || !gone {
		return false, err
	}
	return true, t.finish(ctx, id)
}

// tasksAtOnce is how many tasks are taken away together, with all their attempts
// and logs.
const tasksAtOnce = 100

// finish takes away what belongs to a run whose row has gone.
func (t *taker) finish(ctx context.Context, id string) error {
	var keys []store.TaskKey
	var questions []string
	attempts := map[store.TaskKey]int{}
	err := t.store.Read(ctx, func(r store.Reader) error {
		tasks, err := r.Tasks(id)
		if err != nil {
			return err
		}
		keys, questions = nil, nil
		for _, task := range tasks {
			keys = append(keys, task.TaskKey)
			attempts[task.TaskKey] = task.Tries
		}
		all, err := r.Questions(false)
		for _, q := range all {
			if q.Run == id {
				questions = append(questions, q.ID)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(questions, keysAtOnce) {
		if err := t.take(ctx, store.Need{Alone: true}, &t.done.Questions, func(*store.Tx) (store.Gone, int, error) {
			return store.Gone{Questions: chunk}, len(chunk), nil
		}); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(keys, tasksAtOnce) {
		if err := t.takeChunk(ctx, chunk, attempts); err != nil {
			return err
		}
	}
	return t.store.Write(ctx, store.Need{}, func(tx *store.Tx) error {
		tx.DropItem(mark(id))
		return nil
	})
}

func (t *taker) takeChunk(ctx context.Context, keys []store.TaskKey, attempts map[store.TaskKey]int) error {
	gone := store.Gone{Tasks: keys}
	tries := 0
	for _, key := range keys {
		tries += attempts[key]
		for _, kind := range logKinds() {
			gone.Lists = append(gone.Lists, store.ItemList{Kind: kind, Parent: key.Run + "/" + key.Task})
		}
	}
	err := t.take(ctx, store.Need{Alone: true}, &t.done.Tasks, func(*store.Tx) (store.Gone, int, error) { return gone, len(keys), nil })
	if err == nil {
		t.done.Attempts += tries
	}
	return err
}

// logKinds are the kinds of items that hold what agents have printed. Their
// parent is RUN/TASK.
func logKinds() []string { return []string{"log"} }

// eventsAtOnce is how many events are looked at, and taken away, together.
const eventsAtOnce = 1000

// takeEvents takes away events that are old and whose subject has gone.
func (t *taker) takeEvents(ctx context.Context) error {
	there, top := map[string]bool{}, int64(0)
	err := t.store.Read(ctx, func(r store.Reader) (err error) {
		left, err := r.RunsBefore(t.found.Before.Add(skew))
		for _, run := range left {
			there[run.ID] = true
		}
		if err == nil {
			top, err = Floor(r)
		}
		return err
	})
	for after, more := int64(0), true; more && err == nil; {
		var orphans []int64
		orphans, after, more, err = t.orphans(ctx, after, there)
		if err == nil && len(orphans) > 0 {
			top = max(top, orphans[len(orphans)-1])
			err = t.take(ctx, store.Need{Alone: true}, &t.done.Events, func(tx *store.Tx) (store.Gone, int, error) {
				tx.PutCursor(store.Cursor{Name: floor, Seq: top})
				return store.Gone{Events: orphans}, len(orphans), nil
			})
		}
	}
	return err
}

// orphans looks through a page of events.
func (t *taker) orphans(ctx context.Context, after int64, there map[string]bool) (orphans []int64, next int64, more bool, err error) {
	err = t.store.Read(ctx, func(r store.Reader) error {
		orphans, next, more = nil, after, false
		last, err := r.LastSeq()
		if err != nil {
			return err
		}
		page, err := r.Headings(after, eventsAtOnce)
		for _, e := range page {
			if !e.At.Before(t.found.Before) {
				return err
			}
			if next = e.Seq; e.Seq < last && t.found.orphan(e, there) {
				orphans = append(orphans, e.Seq)
			}
		}
		more = len(page) == eventsAtOnce
		return err
	})
	return orphans, next, more, err
}

// takeTasks takes away the desk's tasks, after their events: whoever tells an
// event looks its task up.
func (t *taker) takeTasks(ctx context.Context) error {
	byRun := map[string][]desk.OldTask{}
	for _, task := range t.found.desk.Tasks {
		byRun[task.Run] = append(byRun[task.Run], task)
	}
	for run, tasks := range byRun {
		for chunk := range slices.Chunk(tasks, tasksAtOnce) {
			if err := t.takeOld(ctx, run, chunk); err != nil {
				return fmt.Errorf("tasks of %s: %w", run, err)
			}
		}
	}
	return nil
}

func (t *taker) takeOld(ctx context.Context, run string, tasks []desk.OldTask) error {
	tries := 0
	err := t.take(ctx, store.Need{Alone: true, Runs: []string{run}}, &t.done.Tasks, func(tx *store.Tx) (gone store.Gone, _ int, err error) {
		row, err := tx.Run(run)
		if err != nil {
			return gone, 0, err
		}
		tries = 0
		for _, task := range tasks {
			if _, err := tx.Task(task.TaskKey); errors.Is(err, store.ErrNotFound) {
				continue // another one was here
			}
			if task.Failed {
				row.Failed--
			}
			tries += task.Attempts
			gone.Tasks = append(gone.Tasks, task.TaskKey)
			gone.Lists = append(gone.Lists, task.Inputs)
		}
		tx.PutRun(row)
		return gone, len(gone.Tasks), nil
	})
	if err == nil {
		t.done.Attempts += tries
	}
	return err
}

// takeItems takes away the desk's inputs and notes.
func (t *taker) takeItems(ctx context.Context) error {
	for _, of := range []struct {
		keys []store.ItemKey
		done *int
	}{{t.found.desk.Inputs, &t.done.Inputs}, {t.found.desk.Notes, &t.done.Notes}} {
		for chunk := range slices.Chunk(of.keys, keysAtOnce) {
			err := t.store.Write(ctx, store.Need{}, func(tx *store.Tx) error {
				for _, key := range chunk {
					tx.DropItem(key)
				}
				return nil
			})
			if err != nil {
				return err
			}
			*of.done += len(chunk)
		}
	}
	return nil
}

// takeWorkers takes away workers, after their events.
func (t *taker) takeWorkers(ctx context.Context) error {
	for chunk := range slices.Chunk(t.found.workers, keysAtOnce) {
		err := t.take(ctx, store.Need{Alone: true, Workers: chunk}, &t.done.Workers, func(tx *store.Tx) (gone store.Gone, _ int, err error) {
			for _, id := range chunk {
				free, err := t.free(tx, id)
				if err != nil {
					return gone, 0, err
				}
				if free {
					gone.Workers = append(gone.Workers, id)
				}
			}
			return gone, len(gone.Workers), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// free reports whether a worker still is silent and holds nothing.
func (t *taker) free(tx *store.Tx, id string) (bool, error) {
	w, err := tx.Worker(id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil || !silent(w, t.found.Before) {
		return false, err
	}
	for _, held := range w.Holds {
		a, err := tx.Attempt(held)
		if err == nil && a.Status == store.Running {
			return false, nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
	}
	return true, nil
}

// tell appends what was done as an event.
func (t *taker) tell(ctx context.Context) error {
	if t.done.None() {
		return nil
	}
	return t.store.Write(ctx, store.Need{}, func(tx *store.Tx) error {
		tx.Append(store.Event{At: t.Now(), Kind: "store.pruned", Who: t.Who, Why: t.done.String()})
		return nil
	})
}

// String names all that is not zero.
func (c Counts) String() string {
	var words []string
	for _, of := range c.List() {
		if of.N > 0 {
			words = append(words, fmt.Sprintf("%d %s", of.N, of.Kind))
		}
	}
	return strings.Join(words, ", ")
}

// Count is how many rows of a kind there are.
type Count struct {
	Kind string
	N    int
}

// List returns the counts with their names.
func (c Counts) List() []Count {
	return []Count{
		{"runs", c.Runs}, {"tasks", c.Tasks}, {"attempts", c.Attempts}, {"questions", c.Questions}, {"inputs", c.Inputs},
		{"notes", c.Notes}, {"promises", c.Promises}, {"workers", c.Workers}, {"events", c.Events},
	}
}
