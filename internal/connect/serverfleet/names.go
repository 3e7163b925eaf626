package serverfleet

import (
	"context"
	"sync"

	"gaffer/coordinator"
	"gaffer/fleet"
)

// names are what workers are called. A worker that is not known yet is asked
// about once: those of a name that nobody knows keep their id.
type names struct {
	mu sync.Mutex
	of map[string]string // by id
}

// put gives the attempts of tasks the names of their workers.
func (n *names) put(ctx context.Context, c *coordinator.Client, tasks []fleet.Task) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.learn(ctx, c, tasks)
	for _, t := range tasks {
		if t.Attempt != nil && n.of[t.Attempt.Worker] != "" {
			t.Attempt.Worker = n.of[t.Attempt.Worker]
		}
	}
}

// learn asks for the names of workers that were not met before.
func (n *names) learn(ctx context.Context, c *coordinator.Client, tasks []fleet.Task) {
	var met []string
	for _, t := range tasks {
		if t.Attempt == nil {
			continue
		}
		if _, known := n.of[t.Attempt.Worker]; !known {
			met = append(met, t.Attempt.Worker)
		}
	}
	if len(met) == 0 {
		return
	}
	agents, err := c.Agents(ctx)
	if err != nil {
		return // the next look asks again
	}
	if n.of == nil {
		n.of = map[string]string{}
	}
	for _, id := range met {
		n.of[id] = ""
	}
	for _, a := range agents {
		n.of[a.ID] = a.Name
	}
}
