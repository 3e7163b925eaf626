package runquery

import (
	"context"
	"strings"
	"sync"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// attemptCost holds the data of an attempt that a cost report needs.
type attemptCost struct {
	started      time.Time
	agent, model string
	account      string // such as "claude", or "claude/work" for the user's account named work
	running      bool
	spent        store.Amount
}

// costCache keeps the costs of runs that have ended, so that the large rows of their attempts and
// tasks are not read for each report. The zero value is ready to use.
type costCache struct {
	mu       sync.Mutex
	byRun    map[string]endedCosts
	attempts int // number of attempts in byRun
}

// endedCosts are the costs of a run that ended at the time in the field ended. If the run is
// continued later, its row has no end time, or a later one, and costCache.get does not return these
// costs.
type endedCosts struct {
	ended    time.Time
	attempts []attemptCost
}

// maxCachedCosts is the maximum number of attempts in the cache. If the attempts of another run do
// not fit, all runs that are in the cache are removed first.
const maxCachedCosts = 200_000

func (c *costCache) get(run store.Run) ([]attemptCost, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.byRun[run.ID]
	return found.attempts, ok && run.Status.Final() && found.ended.Equal(run.Ended)
}

func (c *costCache) put(run store.Run, list []attemptCost) {
	if !run.Status.Final() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempts += len(list) - len(c.byRun[run.ID].attempts)
	if c.byRun == nil || c.attempts > maxCachedCosts {
		c.byRun, c.attempts = map[string]endedCosts{}, len(list)
	}
	c.byRun[run.ID] = endedCosts{run.Ended, list}
}

// attemptCosts returns the costs of a run's attempts. It leaves out attempts that use no model and
// have cost nothing. If the run has ended, attemptCosts stores the costs in the cache, together
// with the end time in the parameter run. If the run was continued in the meantime, this time
// differs from the end time in the run's current row, and later calls do not use the cached costs.
func (l *Querier) attemptCosts(ctx context.Context, run store.Run) ([]attemptCost, error) {
	if list, ok := l.costs.get(run); ok {
		return list, nil
	}
	var attempts []store.Attempt
	var tasks []store.Task
	if err := l.store.Read(ctx, func(r store.Reader) (err error) {
		if attempts, err = r.AttemptsOf(run.ID); err != nil {
			return err
		}
		tasks, err = r.Tasks(run.ID)
		return err
	}); err != nil {
		return nil, err
	}
	specs := map[string]plan.Task{}
	for _, t := range tasks {
		if t.Tries == 0 {
			continue // the task has no attempt
		}
		spec, err := plan.DecodeTask(t.Spec)
		if err != nil {
			return nil, err
		}
		specs[t.Task] = spec
	}
	var list []attemptCost
	for _, a := range attempts {
		spec := specs[a.Task]
		agent, model := engine.AgentOfAttempt(spec, a.Fallback)
		if a.Spent != (store.Amount{}) || !usesNoModel(agent) {
			list = append(list, attemptCost{a.Started, strings.Clone(agent), strings.Clone(model), strings.Clone(engine.AccountName(agent, a.Account)), a.Status == store.Running, a.Spent})
		}
	}
	l.costs.put(run, list)
	return list, nil
}

// usesNoModel reports whether the agent with this name is only a command, or one of gaffer's own
// agents, which merge branches or pick candidates.
func usesNoModel(agent string) bool {
	return agent == plan.CommandAgent || strings.HasPrefix(agent, "gaffer-")
}
