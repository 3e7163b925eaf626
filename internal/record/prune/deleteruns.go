package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gaffer/internal/engine"
	"gaffer/internal/engine/logstore"
	"gaffer/internal/engine/store"
	"gaffer/internal/record/recorder"
)

// markKind is the Kind of the store items that mark runs as partly deleted. A store item is a row
// for data that has no table of its own. Each partly deleted run has one such item.
const markKind = "pruning"

func markKey(run string) store.ItemKey { return store.ItemKey{Kind: markKind, ID: run} }

func (t *deleter) finishPartlyDeleted(ctx context.Context) error {
	for _, id := range t.found.partlyDeleted {
		release, err := t.LockRun(id)
		if err != nil {
			t.Notice(fmt.Sprintf("what is left of run %s stays: %v", id, err))
			continue
		}
		t.OnDeleted(id)
		left, err := t.readRunRows(ctx, id)
		if err == nil {
			err = t.deleteRunRows(ctx, id, left)
		}
		release()
		if err != nil {
			return fmt.Errorf("what is left of run %s: %w", id, err)
		}
	}
	return nil
}

func (t *deleter) deleteRuns(ctx context.Context) error {
	for _, run := range t.found.Ended {
		release, err := t.LockRun(run.ID)
		if err != nil {
			t.Notice(fmt.Sprintf("run %s stays: %v", run.ID, err))
			continue
		}
		err = t.deleteRun(ctx, run.ID)
		release()
		if err != nil {
			return fmt.Errorf("run %s: %w", run.ID, err)
		}
	}
	return nil
}

// deleteRun deletes a run. If a user has made the run active again in the meantime, it does
// nothing. The first transaction deletes the run's own row, so that readers no longer find the run,
// and stores an item that marks the run as partly deleted. If the run is small, the same
// transaction deletes its tasks, questions and logs as well. Later transactions delete all other
// rows of the run, and finally the mark.
func (t *deleter) deleteRun(ctx context.Context, id string) error {
	left, err := t.readRunRows(ctx, id)
	if err != nil {
		return err
	}
	gone := false
	small := len(left.tasks) <= t.batchSize() && len(left.questions) <= rowsPerWrite && len(left.logs) <= logsPerWrite
	err = t.store.Write(ctx, func(tx *store.Tx) error {
		gone = false
		run, err := tx.Run(id)
		if errors.Is(err, store.ErrNotFound) || err == nil && !endedBefore(run, t.found.Before) {
			return nil
		}
		gone = err == nil
		tx.DeleteRows(store.Deletions{Runs: []string{id}, Cursors: []string{recorder.CursorOf(id)}})
		if small {
			deleteLogs(tx, left.logs)
			tx.DeleteRows(store.Deletions{Tasks: left.tasks, Questions: left.questions, Lists: append(messagesOf(left.tasks), reviewsOf(id), grantsOf(id))})
		}
		tx.PutItem(store.Item{ItemKey: markKey(id), Seq: tx.NextSeq(), Made: t.Now()})
		return err
	})
	if err != nil || !gone {
		return err
	}
	t.deleted.Runs++
	t.OnDeleted(id)
	if small {
		t.countTasks(left.tasks, left)
		t.deleted.Questions += len(left.questions)
		left = runRows{}
	}
	return t.deleteRunRows(ctx, id, left)
}

const (
	// defaultBatchSize is how many tasks, with all their attempts, one transaction deletes.
	defaultBatchSize = 100
	// logsPerWrite is how many logs one transaction deletes. A log may be several megabytes long.
	logsPerWrite = 8
)

func (t *deleter) batchSize() int { return cmp.Or(t.BatchSize, defaultBatchSize) }

// runRows lists the rows of a run, except the run's own row.
type runRows struct {
	tasks     []store.TaskKey
	attempts  map[store.TaskKey]int // number of attempts at each task
	questions []string              // ids of the questions
	logs      []string              // ids of the attempts that have a log
}

func (t *deleter) readRunRows(ctx context.Context, run string) (left runRows, err error) {
	err = t.store.Read(ctx, func(r store.Reader) error {
		left = runRows{attempts: map[store.TaskKey]int{}, questions: t.found.questions[run]}
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

func (left *runRows) addAttempts(r store.Reader, run string) error {
	attempts, err := r.AttemptsOf(run)
	for _, a := range attempts {
		left.attempts[a.Key()]++
		_, err := r.Item(store.ItemKey{Kind: logstore.HeadKind, ID: a.ID})
		if err == nil {
			left.logs = append(left.logs, a.ID)
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return err
}

// deleteRunRows deletes the remaining rows of a run after the run's own row was deleted. At the end
// it deletes the item that marks the run as partly deleted.
func (t *deleter) deleteRunRows(ctx context.Context, id string, left runRows) error {
	for chunk := range slices.Chunk(left.logs, logsPerWrite) {
		if err := t.store.Write(ctx, func(tx *store.Tx) error { deleteLogs(tx, chunk); return nil }); err != nil {
			return err
		}
	}
	if err := t.deleteQuestions(ctx, left.questions); err != nil {
		return err
	}
	for chunk := range slices.Chunk(left.tasks, t.batchSize()) {
		err := t.store.Write(ctx, func(tx *store.Tx) error {
			tx.DeleteRows(store.Deletions{Tasks: chunk, Lists: messagesOf(chunk)})
			return nil
		})
		if err != nil {
			return err
		}
		t.countTasks(chunk, left)
	}
	return t.store.Write(ctx, func(tx *store.Tx) error {
		tx.DeleteRows(store.Deletions{Lists: []store.ItemList{reviewsOf(id), grantsOf(id), {Kind: engine.ItemReportKind, Parent: id}}})
		tx.DropItem(markKey(id))
		return nil
	})
}

// messagesOf returns the lists of store items with the users' messages to the agents of these
// tasks.
func messagesOf(tasks []store.TaskKey) (lists []store.ItemList) {
	for _, key := range tasks {
		lists = append(lists, store.ItemList{Kind: engine.MessageKind, Parent: engine.TaskItemID(key)})
	}
	return lists
}

// reviewsOf returns the list of store items with the reviews of a run's tasks.
func reviewsOf(run string) store.ItemList {
	return store.ItemList{Kind: engine.ReviewKind, Parent: run}
}

// grantsOf returns the list of store items with the grants of a run and of its tasks. A grant is a
// permission rule that a user has made by answering an agent's question.
func grantsOf(run string) store.ItemList {
	return store.ItemList{Kind: engine.GrantKind, Parent: engine.GrantParent(run)}
}

func deleteLogs(tx *store.Tx, attempts []string) {
	var gone store.Deletions
	for _, id := range attempts {
		gone.Lists = append(gone.Lists, store.ItemList{Kind: logstore.PieceKind, Parent: id})
		tx.DropItem(store.ItemKey{Kind: logstore.HeadKind, ID: id})
	}
	tx.DeleteRows(gone)
}

// countTasks adds deleted tasks and their attempts to t.deleted. rows has the number of attempts at
// each task.
func (t *deleter) countTasks(tasks []store.TaskKey, rows runRows) {
	t.deleted.Tasks += len(tasks)
	for _, key := range tasks {
		t.deleted.Attempts += rows.attempts[key]
	}
}

// deleteStandaloneQuestions deletes expired questions that belong to no task. Users can no longer
// answer them.
func (t *deleter) deleteStandaloneQuestions(ctx context.Context) error {
	return t.deleteQuestions(ctx, t.found.questions[""])
}

func (t *deleter) deleteQuestions(ctx context.Context, ids []string) error {
	for chunk := range slices.Chunk(ids, rowsPerWrite) {
		if err := t.deleteRows(ctx, &t.deleted.Questions, func(*store.Tx) (store.Deletions, int, error) {
			return store.Deletions{Questions: chunk}, len(chunk), nil
		}); err != nil {
			return err
		}
	}
	return nil
}
