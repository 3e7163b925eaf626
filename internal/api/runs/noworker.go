package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// setNoWorker sets the field NoWorker of each task that is ready to start, but that no online
// worker may take. The field says why. setNoWorker ignores tasks without the label of a project,
// because they are not for workers of the coordinator.
func (d *runReader) setNoWorker(ctx context.Context, run string, tasks []fleet.Task) error {
	byID := map[string]*fleet.Task{}
	for i := range tasks {
		if tasks[i].Status == fleet.Queued {
			byID[tasks[i].ID] = &tasks[i]
		}
	}
	if len(byID) == 0 {
		return nil
	}
	return d.store.Read(ctx, func(r store.Reader) error {
		rows, err := r.Tasks(run)
		if err != nil {
			return err
		}
		workers, err := d.online(r)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if shown := byID[row.Task]; shown != nil && row.Ready && strings.Contains(row.Labels, ProjectLabel("")) {
				shown.NoWorker = noWorker(workers, strings.Split(row.Labels, ","), row.Account)
			}
		}
		return nil
	})
}

// online lists the workers whose last heartbeat is less than coordinator.OfflineAfter ago.
func (d *runReader) online(r store.Reader) (list []fleet.Worker, err error) {
	rows, err := r.Workers()
	for _, row := range rows {
		if d.now().Sub(row.Seen) >= coordinator.OfflineAfter {
			continue
		}
		var said fleet.WorkerMeta
		_ = json.Unmarshal(row.Meta, &said) // Meta of a worker of another program may have another format, so ignore errors
		list = append(list, fleet.Worker{Name: row.Name, Labels: strings.Split(row.Labels, ","), Allowed: said.Agents, Pools: said.Pools})
	}
	return list, err
}

// noWorker returns the reason why none of the workers may take a task that has these labels and
// runs this agent. It returns "" if at least one of the workers may take the task.
func noWorker(workers []fleet.Worker, labels []string, agent string) string {
	var own []string // labels that the user gave the task, without those that gaffer adds
	for _, label := range labels {
		project, ofProject := strings.CutPrefix(label, ProjectLabel(""))
		place, ofPlace := strings.CutPrefix(label, engine.WorkerLabel(""))
		has := slices.ContainsFunc(workers, func(w fleet.Worker) bool { return w.HasLabels([]string{label}) })
		switch {
		case ofProject && !has:
			return fmt.Sprintf("no worker of project %s is online", project)
		case ofPlace && !has:
			return fmt.Sprintf("worker %s is not online", place)
		case !ofProject && !ofPlace:
			own = append(own, label)
		}
	}
	able := slices.DeleteFunc(slices.Clone(workers), func(w fleet.Worker) bool { return !w.HasLabels(labels) })
	if len(able) == 0 {
		return fmt.Sprintf("no worker that is online has the labels %s", strings.Join(own, ", "))
	}
	able = slices.DeleteFunc(able, func(w fleet.Worker) bool { return !w.TokenAllows(labels) })
	if len(able) == 0 {
		return "the tokens of the workers that are online are limited to other pools"
	}
	if !slices.ContainsFunc(able, func(w fleet.Worker) bool { return w.TakesAgent(agent) }) {
		return fmt.Sprintf("no worker that is online and has its labels runs agent %s", agent)
	}
	return ""
}
