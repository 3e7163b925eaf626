package protocol

import (
	"context"

	"gaffer/coordinator"
	"gaffer/internal/api/server"
	"gaffer/internal/engine/store"
)

// maxShown is the maximum number of tasks on a dashboard.
const maxShown = 500

// Dashboard implements [server.Protocol]. It returns at most maxShown tasks. If there are more, it
// chooses tasks in progress first, then queued tasks, then the ended tasks that were added last.
func (d *Service) Dashboard(ctx context.Context) (board coordinator.Dashboard, err error) {
	var tasks taskList
	err = d.db.store.Read(ctx, func(r store.Reader) (err error) {
		board, tasks, err = d.dashboard(r)
		return err
	})
	if err == nil {
		board.Tasks, err = tasks.wire()
	}
	return board, err
}

func (d *Service) dashboard(r store.Reader) (board coordinator.Dashboard, tasks taskList, err error) {
	if board.Agents, err = d.agents(r); err != nil {
		return board, nil, err
	}
	if board.Channels, err = all[coordinator.Channel](r, kindChannel); err != nil {
		return board, nil, err
	}
	if board.Chains, err = chains(r); err != nil {
		return board, nil, err
	}
	if tasks, err = list(r, server.TaskFilter{}, maxShown, maxShown); err != nil {
		return board, nil, err
	}
	board.Events, err = latestEvents(r, defaultNotes)
	return board, tasks.shown(maxShown), err
}
