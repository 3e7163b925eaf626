package desk

import (
	"cmp"
	"context"
	"slices"

	"gaffer/coordinator"
	"gaffer/internal/server"
	"gaffer/internal/store"
)

// maxShown is how many tasks a dashboard shows.
const maxShown = 500

// Dashboard implements [server.Desk]. Of very many tasks it shows those that are
// under way, then those that wait, then those that ended last.
func (d *Desk) Dashboard(ctx context.Context) (board coordinator.Dashboard, err error) {
	err = d.store.Read(ctx, func(r store.Reader) (err error) {
		board, err = d.dashboard(r)
		return err
	})
	return board, err
}

func (d *Desk) dashboard(r store.Reader) (board coordinator.Dashboard, err error) {
	if board.Agents, err = d.agents(r); err != nil {
		return board, err
	}
	if board.Channels, err = all[coordinator.Channel](r, kindChannel); err != nil {
		return board, err
	}
	if board.Chains, err = all[coordinator.Chain](r, kindChain); err != nil {
		return board, err
	}
	tasks, err := tasks(r, server.TaskFilter{})
	if err != nil {
		return board, err
	}
	board.Tasks = shown(tasks, maxShown).wire()
	board.Events, err = notes(r, someNotes)
	return board, err
}

// shown returns the tasks that matter most, in their order.
func shown(tasks found, most int) found {
	if len(tasks) <= most {
		return tasks
	}
	chosen := make(found, 0, most)
	take := func(list found, want func(coordinator.TaskStatus) bool) {
		for _, t := range list {
			if len(chosen) < most && want(t.task.Status) {
				chosen = append(chosen, t)
			}
		}
	}
	take(tasks, func(s coordinator.TaskStatus) bool { return s == coordinator.InProgress })
	take(tasks, func(s coordinator.TaskStatus) bool { return s == coordinator.Queued })
	newest := slices.Clone(tasks)
	slices.Reverse(newest)
	take(newest, func(s coordinator.TaskStatus) bool { return s == coordinator.Done || s == coordinator.Failed })
	slices.SortFunc(chosen, func(a, b foundTask) int { return cmp.Compare(a.seq, b.seq) })
	return chosen
}
