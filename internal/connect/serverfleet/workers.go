package serverfleet

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
		"labels": &w.Labels, "agents": &w.Allowed, "pools": &w.Pools, "slots": &w.Slots, "version": &w.Version, "host": &w.Host, "held": &w.Held, "source": &w.Source, "run": &w.Run,
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
		has := func(w Worker) bool { return w.Online() && w.Has(labels) && w.Serves(t.Labels) }
		if key := strings.Join(labels, ","); !seen[key] && !slices.ContainsFunc(workers, has) {
			seen[key] = true
			lacking = append(lacking, strings.Join(t.Labels, ", "))
		}
	}
	return lacking
}

// Disallowed lists the agents of a plan whose tasks would wait for ever as things are,
// although workers are online that have the labels: none of them runs the agent.
func Disallowed(workers []Worker, p plan.Plan, project, on string, agentOf func(plan.Task) string) (agents []string) {
	needed := []string{projectLabel + project}
	if on != "" {
		needed = append(needed, placeLabel+on)
	}
	for _, t := range p.Tasks {
		labels, name := slices.Concat(needed, t.Labels), agentOf(t)
		has := func(w Worker) bool { return w.Online() && w.Has(labels) && w.Serves(t.Labels) }
		runs := func(w Worker) bool { return has(w) && w.Runs(name) }
		if slices.ContainsFunc(workers, has) && !slices.ContainsFunc(workers, runs) && !slices.Contains(agents, name) {
			agents = append(agents, name)
		}
	}
	return agents
}
