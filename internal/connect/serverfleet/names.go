package serverfleet

import (
	"context"
	"sync"

	"gaffer/coordinator"
	"gaffer/fleet"
)

// names caches the names of workers. If a worker's id is not in the cache, names requests the names
// of all workers from the server. It remembers ids that the server does not know, and requests them
// only once. A worker without a name is shown by its id.
type names struct {
	mu   sync.Mutex
	byID map[string]string // names by worker id; "" if the worker has no name
}

// replaceIDs replaces the worker's id in the attempt of each task by the worker's name.
func (n *names) replaceIDs(ctx context.Context, c *coordinator.Client, tasks []fleet.Task) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requestMissing(ctx, c, tasks)
	for _, t := range tasks {
		if t.Attempt != nil && n.byID[t.Attempt.Worker] != "" {
			t.Attempt.Worker = n.byID[t.Attempt.Worker]
		}
	}
}

// requestMissing requests the names of all workers from the server if the cache lacks the worker of
// one of these tasks.
func (n *names) requestMissing(ctx context.Context, c *coordinator.Client, tasks []fleet.Task) {
	var met []string
	for _, t := range tasks {
		if t.Attempt == nil {
			continue
		}
		if _, known := n.byID[t.Attempt.Worker]; !known {
			met = append(met, t.Attempt.Worker)
		}
	}
	if len(met) == 0 {
		return
	}
	agents, err := c.Agents.List(ctx)
	if err != nil {
		return // the next call of requestMissing repeats the request
	}
	if n.byID == nil {
		n.byID = map[string]string{}
	}
	for _, id := range met {
		n.byID[id] = ""
	}
	for _, a := range agents {
		n.byID[a.ID] = a.Name
	}
}
