package prune

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gaffer/internal/engine/store"
)

// deleteTasks deletes old tasks that clients of the coordinator protocol have created. The caller
// must delete the events of these tasks first, because a reader of an event looks up the event's
// task.
func (t *deleter) deleteTasks(ctx context.Context) error {
	byRun := map[string][]OldTask{}
	for _, task := range t.found.protocol.Tasks {
		byRun[task.Run] = append(byRun[task.Run], task)
	}
	for run, tasks := range byRun {
		for chunk := range slices.Chunk(tasks, t.batchSize()) {
			if err := t.deleteTaskBatch(ctx, run, chunk); err != nil {
				return fmt.Errorf("tasks of %s: %w", run, err)
			}
		}
	}
	return nil
}

func (t *deleter) deleteTaskBatch(ctx context.Context, run string, tasks []OldTask) error {
	tries := 0
	err := t.deleteRows(ctx, &t.deleted.Tasks, func(tx *store.Tx) (gone store.Deletions, _ int, err error) {
		row, err := tx.Run(run)
		if err != nil {
			return gone, 0, err
		}
		tries = 0
		for _, task := range tasks {
			now, err := tx.Task(task.TaskKey)
			if errors.Is(err, store.ErrNotFound) {
				continue // another process has already deleted the task
			}
			if err != nil {
				return gone, 0, err
			}
			if !now.Status.Final() || now.LastAttempt != task.LastAttempt {
				continue // the task has become active again since Find was called
			}
			if now.Status == store.Failed {
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
		t.deleted.Attempts += tries
	}
	return err
}

// deleteItems deletes old inputs and notes that clients of the coordinator protocol have sent. An
// input is text or key presses for an agent. A note is an event of the protocol, not of the
// store.
func (t *deleter) deleteItems(ctx context.Context) error {
	for _, of := range []struct {
		keys []store.ItemKey
		done *int
	}{{t.found.protocol.Inputs, &t.deleted.Inputs}, {t.found.protocol.Notes, &t.deleted.Notes}} {
		for chunk := range slices.Chunk(of.keys, rowsPerWrite) {
			err := t.store.Write(ctx, func(tx *store.Tx) error {
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

// deleteWorkers deletes old workers. The caller must delete the events of these workers first.
func (t *deleter) deleteWorkers(ctx context.Context) error {
	for chunk := range slices.Chunk(t.found.workers, rowsPerWrite) {
		err := t.deleteRows(ctx, &t.deleted.Workers, func(tx *store.Tx) (gone store.Deletions, _ int, err error) {
			for _, id := range chunk {
				free, err := t.isUnused(tx, id)
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

// isUnused reports whether a worker can be deleted: it exists, has neither sent a heartbeat nor
// changed since t.found.Before, and is running no attempt.
func (t *deleter) isUnused(tx *store.Tx, id string) (bool, error) {
	w, err := tx.Worker(id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil || !silentSince(w, t.found.Before) {
		return false, err
	}
	for _, held := range w.HeldAttempts {
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
