package distant

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/plan"
)

// Worker is who may run tasks.
type Worker = fleet.Worker

// Workers lists all workers, the protocol's own agents among them.
func (f *Fleet) Workers(ctx context.Context) ([]Worker, error) {
	agents, err := f.client.Agents(ctx)
	if err != nil {
		return nil, f.problem(err)
	}
	list := make([]Worker, len(agents))
	for i, a := range agents {
		list[i] = WorkerOf(a)
	}
	return list, nil
}

// WorkerOf reads what a worker says of itself. What is not in the form of gaffer's
// own workers is passed over.
func WorkerOf(a coordinator.Agent) Worker {
	w := Worker{
		ID: a.ID, Name: a.Name, WorkerStatus: string(a.WorkerStatus), ClaudeStatus: a.ClaudeStatus, ClaudeSince: a.ClaudeSince,
		Task: a.CurrentTaskID, LastSeen: a.LastSeen,
	}
	var said map[string]json.RawMessage
	_ = json.Unmarshal(a.Meta, &said) // what is no object says nothing
	for name, to := range map[string]any{
		"labels": &w.Labels, "slots": &w.Slots, "version": &w.Version, "host": &w.Host, "held": &w.Held, "source": &w.Source, "run": &w.Run,
		"by_hand": &w.ByHand, "dir": &w.Dir, "for": &w.For, "pid": &w.PID, "pane": &w.Pane,
	} {
		_ = json.Unmarshal(said[name], to) // nor does what has another form
	}
	var program string
	if _ = json.Unmarshal(said["program"], &program); program == "gaffer" {
		w.Task = strings.Replace(w.Task, ".", "/", 1) // the protocol's id of what people call RUN/TASK
	}
	return w
}

// The labels by which a worker says which project it works for and who it is.
const (
	projectLabel = "project:"
	placeLabel   = "@"
)

// Idle tells why the tasks of a plan would wait for ever as things are, or nothing:
// which labels no worker has that is online.
func Idle(workers []Worker, p plan.Plan, project, on string) (lacking []string) {
	needed := []string{projectLabel + project}
	if on != "" {
		needed = append(needed, placeLabel+on)
	}
	seen := map[string]bool{}
	for _, t := range p.Tasks {
		labels := slices.Concat(needed, t.Labels)
		if key := strings.Join(labels, ","); !seen[key] && !anyHas(workers, labels) {
			seen[key] = true
			lacking = append(lacking, strings.Join(t.Labels, ", "))
		}
	}
	return lacking
}

func anyHas(workers []Worker, labels []string) bool {
	return slices.ContainsFunc(workers, func(w Worker) bool {
		return w.Online() && !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(w.Labels, l) })
	})
}
