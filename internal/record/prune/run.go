package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gaffer/internal/engine/logstore"
	"gaffer/internal/engine/store"
	"gaffer/internal/record/recorder"
)

// markKind is the kind of the items that name runs of which only the rest is
// there.
const markKind = "pruning"

func mark(run string) store.ItemKey { return store.ItemKey{Kind: markKind, ID: run} }

func (t *taker) takeRest(ctx context.Context) error {
	for _, id := range t.found.rest {
		release, err := t.Hold(id)
		if err != nil {
			t.Tell(fmt.Sprintf("what is left of run %s stays: %v", id, err))
			continue
		}
		t.Gone(id)
		left, err := t.remains(ctx, id)
		if err == nil {
			err = t.finish(ctx, id, left)
		}
		release()
		if err != nil {
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
		err = t.takeRun(ctx, run.ID)
		release()
		if err != nil {
			return fmt.Errorf("run %s: %w", run.ID, err)
		}
	}
	return nil
}

// takeRun takes a run away, unless it goes on by now. Its row goes first, so that
// nobody finds it any more, with all else if it is a small one, and a mark stays until
// the rest has gone.
func (t *taker) takeRun(ctx context.Context, id string) error {
	left, err := t.remains(ctx, id)
	if err != nil {
		return err
	}
	gone := false
	small := len(left.tasks) <= t.atOnce() && len(left.questions) <= keysAtOnce && len(left.logs) <= logsAtOnce
	err = t.store.Write(ctx, store.Need{Alone: true, Runs: []string{id}}, func(tx *store.Tx) error {
		gone = false
		run, err := tx.Run(id)
		if errors.Is(err, store.ErrNotFound) || err == nil && !old(run, t.found.Before) {
			return nil
		}
		gone = err == nil
		tx.TakeAway(store.Gone{Runs: []string{id}, Cursors: []string{recorder.CursorOf(id)}})
		if small {
			takeLogs(tx, left.logs)
			tx.TakeAway(store.Gone{Tasks: left.tasks, Questions: left.questions})
		}
		tx.PutItem(store.Item{ItemKey: mark(id), Seq: tx.NextSeq(), Made: t.Now()})
		return err
	})
	if err != nil || !gone {
		return err
	}
	t.done.Runs++
	t.Gone(id)
	if small {
		t.count(left.tasks, left)
		t.done.Questions += len(left.questions)
		left = remains{}
	}
	return t.finish(ctx, id, left)
}

const (
	// tasksAtOnce is how many tasks are taken away together, with all their
	// attempts.
	tasksAtOnce = 100
	// logsAtOnce is how many logs are, each of which may be megabytes.
	logsAtOnce = 8
)

func (t *taker) atOnce() int { return cmp.Or(t.AtOnce, tasksAtOnce) }

// remains is what there is of a run beside its row.
type remains struct {
	tasks     []store.TaskKey
	attempts  map[store.TaskKey]int
	questions []string
	logs      []string // attempts that have one
}

func (t *taker) remains(ctx context.Context, run string) (left remains, err error) {
	err = t.store.Read(ctx, func(r store.Reader) error {
		left = remains{attempts: map[store.TaskKey]int{}, questions: t.found.questions[run]}
		tasks, err := r.Tasks(run)
		if err != nil {
			return err
		}
		for _, task := range tasks {
			left.tasks = append(left.tasks, task.TaskKey)
		}
		return left.addAttempts(r, run)
	})
	return left, err
}

func (left *remains) addAttempts(r store.Reader, run string) error {
	attempts, err := r.AttemptsOf(run)
	for _, a := range attempts {
		left.attempts[a.Key()]++
		_, err := r.Item(store.ItemKey{Kind: logstore.Head, ID: a.ID})
		if err == nil {
			left.logs = append(left.logs, a.ID)
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return err
}

// finish takes away what belongs to a run whose row has gone.
func (t *taker) finish(ctx context.Context, id string, left remains) error {
	alone := store.Need{Alone: true}
	for chunk := range slices.Chunk(left.logs, logsAtOnce) {
		if err := t.store.Write(ctx, alone, func(tx *store.Tx) error { takeLogs(tx, chunk); return nil }); err != nil {
			return err
		}
	}
	if err := t.takeQuestions(ctx, left.questions); err != nil {
		return err
	}
	for chunk := range slices.Chunk(left.tasks, t.atOnce()) {
		if err := t.store.Write(ctx, alone, func(tx *store.Tx) error { tx.TakeAway(store.Gone{Tasks: chunk}); return nil }); err != nil {
			return err
		}
		t.count(chunk, left)
	}
	return t.store.Write(ctx, store.Need{}, func(tx *store.Tx) error {
		tx.DropItem(mark(id))
		return nil
	})
}

// takeLogs takes away the logs of attempts.
func takeLogs(tx *store.Tx, attempts []string) {
	var gone store.Gone
	for _, id := range attempts {
		gone.Lists = append(gone.Lists, store.ItemList{Kind: logstore.Piece, Parent: id})
		tx.DropItem(store.ItemKey{Kind: logstore.Head, ID: id})
	}
	tx.TakeAway(gone)
}

// count counts tasks that have gone, with their attempts.
func (t *taker) count(tasks []store.TaskKey, of remains) {
	t.done.Tasks += len(tasks)
	for _, key := range tasks {
		t.done.Attempts += of.attempts[key]
	}
}

// takeAsides takes away the questions that belong to no task. Nobody can ask or
// answer one again whose time is over.
func (t *taker) takeAsides(ctx context.Context) error {
	return t.takeQuestions(ctx, t.found.questions[""])
}

func (t *taker) takeQuestions(ctx context.Context, ids []string) error {
	for chunk := range slices.Chunk(ids, keysAtOnce) {
		if err := t.take(ctx, store.Need{Alone: true}, &t.done.Questions, func(*store.Tx) (store.Gone, int, error) {
			return store.Gone{Questions: chunk}, len(chunk), nil
		}); err != nil {
			return err
		}
	}
	return nil
}
