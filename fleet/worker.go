package fleet

import (
	"slices"
	"strings"
	"time"
)

// WorkerMeta has information about one of gaffer's workers in addition to the fields that the
// coordinator protocol defines. Clients of the protocol get it as JSON in the worker's field meta.
type WorkerMeta struct {
	Program string   `json:"program"` // always "gaffer"
	Host    string   `json:"host,omitempty"`
	Version string   `json:"version,omitempty"`
	Slots   int      `json:"slots"` // how many tasks the worker can run at the same time
	Labels  []string `json:"labels"`
	Agents  []string `json:"agents,omitempty"` // names of the agents whose tasks the worker takes; empty means all
	// If Pools is not empty, the worker's access token lets it take only tasks that require at
	// least one of these labels.
	Pools []string `json:"pools,omitempty"`
	// Source says how the worker knows what its agents do. It is "output" if the worker reads their
	// output, and "worker" if no agent runs or none has reported anything yet.
	Source string `json:"source"`
	Held   int    `json:"held"` // number of tasks that the worker runs now
	// Run is the id of the only run that the worker works on, if the worker was started for that
	// run and ends together with it. It is empty for other workers.
	Run string `json:"run,omitempty"`
	// Programs says which agents the worker's machine can run. It is empty until the worker has
	// looked for them.
	Programs []AgentProgram `json:"programs,omitempty"`
}

// Worker is a program that may run tasks. It has two statuses: WorkerStatus says whether the worker
// has sent a heartbeat recently, and ClaudeStatus is what the worker last reported about its
// agents, not only those of Claude.
type Worker struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	WorkerStatus string    `json:"worker_status"` // online or offline, at the time of the server's answer
	ClaudeStatus string    `json:"claude_status"` // idle, running or waiting, as the worker last reported
	ClaudeSince  time.Time `json:"claude_status_at,omitzero"`
	Task         string    `json:"current_task_id,omitempty"`
	LastSeen     time.Time `json:"last_seen"`
	Slots        int       `json:"slots,omitempty"`
	Held         int       `json:"held,omitempty"` // number of attempts that the worker runs now
	Labels       []string  `json:"labels,omitempty"`
	Allowed      []string  `json:"agents,omitempty"` // names of the agents whose tasks the worker takes; empty means all
	// If Pools is not empty, the worker's access token lets it take only tasks that require at
	// least one of these labels.
	Pools   []string `json:"pools,omitempty"`
	Version string   `json:"version,omitempty"`
	Host    string   `json:"host,omitempty"`
	Source  string   `json:"source,omitempty"` // how the worker knows what its agents do; see WorkerMeta.Source
	// Run is the id of the only run that the worker works on. It is empty for workers that take
	// tasks of any run.
	Run string `json:"run,omitempty"`

	// Programs says which agents the worker's machine can run. It is empty until the worker has
	// reported them.
	Programs []AgentProgram `json:"programs,omitempty"`

	// The fields below are set only for an agent that the user has started by hand. Such an agent
	// is listed like a worker, but takes no tasks.
	ByHand bool   `json:"by_hand,omitempty"`
	PID    int    `json:"pid,omitempty"`
	Pane   string `json:"pane,omitempty"` // id of the tmux pane that the agent runs in
	Dir    string `json:"dir,omitempty"`
	For    string `json:"for,omitempty"` // what the agent waits for
}

// Online reports whether the worker sent a heartbeat recently.
func (w Worker) Online() bool { return w.WorkerStatus == "online" }

// TakesAgent reports whether the worker takes tasks for the agent with this name.
func (w Worker) TakesAgent(agent string) bool {
	return len(w.Allowed) == 0 || slices.Contains(w.Allowed, agent)
}

// TokenAllows reports whether the worker's access token lets the worker take a task that requires
// these labels.
func (w Worker) TokenAllows(labels []string) bool {
	return len(w.Pools) == 0 || slices.ContainsFunc(labels, func(l string) bool { return slices.Contains(w.Pools, l) })
}

// HasLabels reports whether the worker has all of these labels.
func (w Worker) HasLabels(labels []string) bool {
	return !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(w.Labels, l) })
}

// Prefixes of labels that a worker gives itself: one for its projects and one for its name or id.
const (
	projectLabel  = "project:"
	identityLabel = "@"
)

// Projects returns the names of the projects whose tasks the worker takes.
func (w Worker) Projects() (names []string) {
	for _, l := range w.Labels {
		if name, ok := strings.CutPrefix(l, projectLabel); ok {
			names = append(names, name)
		}
	}
	return names
}

// UserLabels returns the labels that the user has given to the worker.
func (w Worker) UserLabels() (labels []string) {
	for _, l := range w.Labels {
		if !strings.HasPrefix(l, projectLabel) && !strings.HasPrefix(l, identityLabel) {
			labels = append(labels, l)
		}
	}
	return labels
}

// WorksFor reports whether the worker takes tasks of the project with this name.
func (w Worker) WorksFor(project string) bool { return slices.Contains(w.Labels, projectLabel+project) }

// MergeWorkers returns a copy of list to which the workers in newer are added. A worker in newer
// replaces the worker in list with the same id.
func MergeWorkers(list, newer []Worker) []Worker {
	list = slices.Clone(list)
	for _, w := range newer {
		if at := slices.IndexFunc(list, func(old Worker) bool { return old.ID == w.ID }); at >= 0 {
			list[at] = w
		} else {
			list = append(list, w)
		}
	}
	return list
}
