package distant

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/plan"
)

// Worker is who may run tasks, with both statuses: whether it was heard of lately,
// and what it last said that its agents do.
type Worker struct {
	ID           string                   `json:"id"`
	Name         string                   `json:"name"`
	WorkerStatus coordinator.WorkerStatus `json:"worker_status"`
	ClaudeStatus string                   `json:"claude_status"`
	ClaudeSince  time.Time                `json:"claude_status_at,omitzero"`
	Task         string                   `json:"current_task_id,omitempty"`
	LastSeen     time.Time                `json:"last_seen"`
	Slots        int                      `json:"slots,omitempty"`
	Labels       []string                 `json:"labels,omitempty"`
	Version      string                   `json:"version,omitempty"`
	Host         string                   `json:"host,omitempty"`
	Held         int                      `json:"held,omitempty"`   // tasks that it has now
	Source       string                   `json:"source,omitempty"` // how it knows what its agents do
	Run          string                   `json:"run,omitempty"`    // the only one that it works on, of one that ends with it
}

// Online reports whether it was heard of lately.
func (w Worker) Online() bool { return w.WorkerStatus == coordinator.Online }

// Workers lists all workers, the protocol's own agents among them.
func (f *Fleet) Workers(ctx context.Context) ([]Worker, error) {
	agents, err := f.client.Agents(ctx)
	if err != nil {
		return nil, f.problem(err)
	}
	list := make([]Worker, len(agents))
	for i, a := range agents {
		list[i] = workerOf(a)
	}
	return list, nil
}

// workerOf reads what a worker says of itself. What is not in the form of gaffer's
// own workers is passed over.
func workerOf(a coordinator.Agent) Worker {
	w := Worker{
		ID: a.ID, Name: a.Name, WorkerStatus: a.WorkerStatus, ClaudeStatus: a.ClaudeStatus, ClaudeSince: a.ClaudeSince,
		Task: a.CurrentTaskID, LastSeen: a.LastSeen,
	}
	var said map[string]json.RawMessage
	_ = json.Unmarshal(a.Meta, &said) // what is no object says nothing
	for name, to := range map[string]any{
		"labels": &w.Labels, "slots": &w.Slots, "version": &w.Version, "host": &w.Host, "held": &w.Held, "source": &w.Source, "run": &w.Run,
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

// Projects are the names of the projects that the worker works for.
func (w Worker) Projects() (names []string) {
	for _, l := range w.Labels {
		if name, ok := strings.CutPrefix(l, projectLabel); ok {
			names = append(names, name)
		}
	}
	return names
}

// Own are the labels that a person has given to the worker.
func (w Worker) Own() (labels []string) {
	for _, l := range w.Labels {
		if !strings.HasPrefix(l, projectLabel) && !strings.HasPrefix(l, placeLabel) {
			labels = append(labels, l)
		}
	}
	return labels
}

// Of reports whether the worker works for a project.
func (w Worker) Of(project string) bool { return slices.Contains(w.Labels, projectLabel+project) }

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
