package fleet

import (
	"slices"
	"strings"
	"time"
)

// WorkerMeta is what gaffer's own workers say of themselves beside what the
// protocol has: it is the meta of an agent.
type WorkerMeta struct {
	Program string   `json:"program"` // gaffer
	Host    string   `json:"host,omitempty"`
	Version string   `json:"version,omitempty"`
	Slots   int      `json:"slots"` // how many tasks it runs at once
	Labels  []string `json:"labels"`
	Agents  []string `json:"agents,omitempty"` // whose tasks it takes; without any, all
	Pools   []string `json:"pools,omitempty"`  // of which a task must want one, if its token is limited to them
	Source  string   `json:"source"`           // how it knows what its agents do: their output, or worker if it has none
	Held    int      `json:"held"`             // tasks that it has now
	// Run is the only one that it works on, of a worker that began with it and
	// ends with it.
	Run string `json:"run,omitempty"`
}

// Worker is who may run tasks, with both statuses: whether it was heard of lately,
// and what it last said that its agents do.
type Worker struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	WorkerStatus string    `json:"worker_status"` // online or offline, when it was asked for
	ClaudeStatus string    `json:"claude_status"` // idle, running or waiting, as reported
	ClaudeSince  time.Time `json:"claude_status_at,omitzero"`
	Task         string    `json:"current_task_id,omitempty"`
	LastSeen     time.Time `json:"last_seen"`
	Slots        int       `json:"slots,omitempty"`
	Held         int       `json:"held,omitempty"` // attempts that it has now
	Labels       []string  `json:"labels,omitempty"`
	Allowed      []string  `json:"agents,omitempty"` // whose tasks it takes; without any, all
	Pools        []string  `json:"pools,omitempty"`  // of which a task must want one; without any, none
	Version      string    `json:"version,omitempty"`
	Host         string    `json:"host,omitempty"`
	Source       string    `json:"source,omitempty"` // how it knows what its agents do
	Run          string    `json:"run,omitempty"`    // the only one that it works on, of one that ends with it

	// Of an agent that a person started: its process, where it works, and what it
	// waits for.
	ByHand bool   `json:"by_hand,omitempty"`
	PID    int    `json:"pid,omitempty"`
	Pane   string `json:"pane,omitempty"` // of tmux
	Dir    string `json:"dir,omitempty"`
	For    string `json:"for,omitempty"`
}

// Online reports whether it was heard of lately.
func (w Worker) Online() bool { return w.WorkerStatus == "online" }

// Runs reports whether the worker takes tasks of an agent.
func (w Worker) Runs(agent string) bool {
	return len(w.Allowed) == 0 || slices.Contains(w.Allowed, agent)
}

// Serves reports whether the worker's token lets it take tasks that want these labels.
func (w Worker) Serves(labels []string) bool {
	return len(w.Pools) == 0 || slices.ContainsFunc(labels, func(l string) bool { return slices.Contains(w.Pools, l) })
}

// Has reports whether the worker has all of these labels.
func (w Worker) Has(labels []string) bool {
	return !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(w.Labels, l) })
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

// MergeWorkers is list with each of newer in the place of the worker with the same
// id, or at the end.
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
