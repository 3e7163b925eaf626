package prune

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gaffer/internal/recorder"
	"gaffer/internal/store"
)

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

const (
	// tasksAtOnce is how many tasks are taken away together, with all their
	// attempts.
	tasksAtOnce = 100
	// logsAtOnce is how many logs are, each of which may be megabytes.
	logsAtOnce = 4
)

// The kinds of the items that logs are kept as: pieces, whose parent is the
// attempt, and one item of the attempt's id.
const (
	logPiece = "log"
	logHead  = "log-head"
)

// remains is what is left of a run whose row has gone.
type remains struct {
	tasks     []store.TaskKey
	attempts  map[store.TaskKey]int
	questions []string
	logs      []string // attempts that have one
}

func remainsOf(r store.Reader, run string) (left remains, err error) {
	tasks, err := r.Tasks(run)
	if err != nil {
		return left, err
	}
	for _, task := range tasks {
		left.tasks = append(left.tasks, task.TaskKey)
	}
	attempts, err := r.AttemptsOf(run)
	if err != nil {
		return left, err
	}
	left.attempts = map[store.TaskKey]int{}
	for _, a := range attempts {
		left.attempts[a.Key()]++
		_, err := r.Item(store.ItemKey{Kind: logHead, ID: a.ID})
		if err == nil {
			left.logs = append(left.logs, a.ID)
		} else if !errors.Is(err, store.ErrNotFound) {
			return left, err
		}
	}
	questions, err := r.Questions(false)
	for _, q := range questions {
		if q.Run == run {
			left.questions = append(left.questions, q.ID)
		}
	}
	return left, err
}

// finish takes away what belongs to a run whose row has gone.
func (t *taker) finish(ctx context.Context, id string) error {
	var left remains
	err := t.store.Read(ctx, func(r store.Reader) (err error) {
		left, err = remainsOf(r, id)
		return err
	})
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(left.logs, logsAtOnce) {
		if err := t.takeLogs(ctx, chunk); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(left.questions, keysAtOnce) {
		if err := t.take(ctx, store.Need{Alone: true}, &t.done.Questions, func(*store.Tx) (store.Gone, int, error) {
			return store.Gone{Questions: chunk}, len(chunk), nil
		}); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(left.tasks, tasksAtOnce) {
		if err := t.takeChunk(ctx, chunk, left.attempts); err != nil {
			return err
		}
	}
	return t.store.Write(ctx, store.Need{}, func(tx *store.Tx) error {
		tx.DropItem(mark(id))
		return nil
	})
}

func (t *taker) takeLogs(ctx context.Context, attempts []string) error {
	return t.store.Write(ctx, store.Need{Alone: true}, func(tx *store.Tx) error {
		var gone store.Gone
		for _, id := range attempts {
			gone.Lists = append(gone.Lists, store.ItemList{Kind: logPiece, Parent: id})
			tx.DropItem(store.ItemKey{Kind: logHead, ID: id})
		}
		tx.TakeAway(gone)
		return nil
	})
}

func (t *taker) takeChunk(ctx context.Context, keys []store.TaskKey, attempts map[store.TaskKey]int) error {
	tries := 0
	for _, key := range keys {
		tries += attempts[key]
	}
	err := t.take(ctx, store.Need{Alone: true}, &t.done.Tasks, func(*store.Tx) (store.Gone, int, error) {
		return store.Gone{Tasks: keys}, len(keys), nil
	})
	if err == nil {
		t.done.Attempts += tries
	}
	return err
}
