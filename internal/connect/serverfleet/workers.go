package serverfleet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/plan"
)

// Worker is a worker that is registered with a server.
type Worker = fleet.Worker

// Workers returns all workers of the server, including agents that other programs registered over
// the coordinator protocol.
func (f *Fleet) Workers(ctx context.Context) ([]Worker, error) {
	agents, err := f.client.Agents.List(ctx)
	if err != nil {
		return nil, f.problem(err)
	}
	list := make([]Worker, len(agents))
	for i, a := range agents {
		list[i] = WorkerOf(a)
	}
	return list, nil
}

// WorkerOf converts what the coordinator protocol calls an agent to a [Worker]. From the agent's
// metadata, a JSON object, it reads the members that gaffer writes. It skips a member whose value
// has an unexpected type.
func WorkerOf(a coordinator.Agent) Worker {
	w := Worker{
		ID: a.ID, Name: a.Name, WorkerStatus: string(a.WorkerStatus), ClaudeStatus: a.ClaudeStatus, ClaudeSince: a.ClaudeSince,
		Task: a.CurrentTaskID, LastSeen: a.LastSeen,
	}
	var said map[string]json.RawMessage
	_ = json.Unmarshal(a.Meta, &said) // ignore the error: if Meta is not an object, there is nothing to read
	for name, to := range map[string]any{
		"labels": &w.Labels, "agents": &w.Allowed, "pools": &w.Pools, "slots": &w.Slots, "version": &w.Version, "host": &w.Host, "held": &w.Held, "source": &w.Source, "run": &w.Run, "programs": &w.Programs,
		"by_hand": &w.ByHand, "dir": &w.Dir, "for": &w.For, "pid": &w.PID, "pane": &w.Pane,
	} {
		_ = json.Unmarshal(said[name], to) // ignore the error: skip a member of an unexpected type
	}
	var program string
	if _ = json.Unmarshal(said["program"], &program); program == "gaffer" {
		w.Task = strings.Replace(w.Task, ".", "/", 1) // the protocol writes RUN.TASK, users see RUN/TASK
	}
	return w
}

// Prefixes of labels that gaffer gives to workers. A label that begins with projectLabel names a
// project whose tasks the worker takes. The label that begins with workerLabel names the worker.
const (
	projectLabel = "project:"
	workerLabel  = "@"
)

// MissingLabels finds the tasks of a plan that no online worker may take. To take a task, a worker
// must serve the project, have all labels that the task requires, and have a token that allows a
// task with these labels. MissingLabels returns the labels of these tasks, separated by commas: one
// string for each different list of labels. The string is empty for tasks without labels. The
// parameter on is the name of the only worker that may take the tasks; if it is empty, any worker
// may.
func MissingLabels(workers []Worker, p plan.Plan, project, on string) (lacking []string) {
	needed := []string{projectLabel + project}
	if on != "" {
		needed = append(needed, workerLabel+on)
	}
	seen := map[string]bool{}
	for _, t := range p.Tasks {
		labels := slices.Concat(needed, t.Labels)
		has := func(w Worker) bool { return w.Online() && w.HasLabels(labels) && w.TokenAllows(t.Labels) }
		if key := strings.Join(labels, ","); !seen[key] && !slices.ContainsFunc(workers, has) {
			seen[key] = true
			lacking = append(lacking, strings.Join(t.Labels, ", "))
		}
	}
	return lacking
}

// DisallowedAgents returns the names of the agents that a plan needs, but that no suitable worker
// runs: workers that may otherwise take a task with this agent are online, but they run only other
// agents. The function agentOf returns the name of a task's agent. The parameter on is as in
// [MissingLabels].
func DisallowedAgents(workers []Worker, p plan.Plan, project, on string, agentOf func(plan.Task) string) (agents []string) {
	needed := []string{projectLabel + project}
	if on != "" {
		needed = append(needed, workerLabel+on)
	}
	for _, t := range p.Tasks {
		labels, name := slices.Concat(needed, t.Labels), agentOf(t)
		has := func(w Worker) bool { return w.Online() && w.HasLabels(labels) && w.TokenAllows(t.Labels) }
		runs := func(w Worker) bool { return has(w) && w.TakesAgent(name) }
		if slices.ContainsFunc(workers, has) && !slices.ContainsFunc(workers, runs) && !slices.Contains(agents, name) {
			agents = append(agents, name)
		}
	}
	return agents
}

// IdleWarnings returns warnings about tasks of a plan that no online worker can run. These tasks
// wait until a suitable worker starts. Some warnings contain the command that starts a worker. The
// parameter serverArg is the argument of this command that names the server, with a space before
// it. The other parameters are as in [DisallowedAgents].
func IdleWarnings(workers []Worker, p plan.Plan, project, on, serverArg string, agentOf func(plan.Task) string) (warnings []string) {
	for _, name := range DisallowedAgents(workers, p, project, on, agentOf) {
		warnings = append(warnings, fmt.Sprintf("no worker that is online and has the labels runs agent %s: its tasks wait", name))
	}
	lacking := MissingLabels(workers, p, project, on)
	switch {
	case len(lacking) == 0:
		return warnings
	case on != "" && !slices.ContainsFunc(workers, func(w Worker) bool { return w.Name == on && w.Online() }):
		return []string{fmt.Sprintf("worker %s is not online: its tasks wait for it", on)}
	case !slices.ContainsFunc(workers, func(w Worker) bool { return w.Online() && w.WorksFor(project) }):
		return []string{fmt.Sprintf("no worker of project %s is online: 'gaffer worker%s' in a checkout of it starts one", project, serverArg)}
	}
	for _, labels := range lacking {
		warnings = append(warnings, fmt.Sprintf("no worker that is online has the labels %s: tasks that want them wait", labels))
	}
	return warnings
}
