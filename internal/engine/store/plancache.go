package store

import (
	"encoding/json"
	"sync"
)

// PlanCache caches the plans of runs. A store returns a run together with its plan, which can be
// large but never changes, so the store need not read it from the database each time. PlanCache is
// safe for concurrent use. The zero value is ready to use.
type PlanCache struct {
	mu    sync.Mutex
	byRun map[string]json.RawMessage
	size  int // total size of the plans, in bytes
}

// maxPlanBytes is the maximum total size of the cached plans, in bytes. If a new plan does not fit,
// all cached plans are removed first. A plan that is larger than the maximum is cached alone.
const maxPlanBytes = 64 << 20

// Get returns the plan of a run. If the plan is not in the cache, Get calls the function read and
// adds the result to the cache, unless read fails.
func (p *PlanCache) Get(run string, read func(run string) (json.RawMessage, error)) (json.RawMessage, error) {
	p.mu.Lock()
	plan, ok := p.byRun[run]
	p.mu.Unlock()
	if ok {
		return plan, nil
	}
	plan, err := read(run)
	if err == nil {
		p.put(run, plan)
	}
	return plan, err
}

// Put adds the plan of a run to the cache. It does nothing if plan is nil or the run's plan is
// already in the cache.
func (p *PlanCache) Put(run string, plan json.RawMessage) {
	p.mu.Lock()
	_, known := p.byRun[run]
	p.mu.Unlock()
	if !known && plan != nil {
		p.put(run, plan)
	}
}

// Forget removes the plans of the given runs from the cache, because the runs were deleted.
func (p *PlanCache) Forget(runs ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, run := range runs {
		p.size -= len(p.byRun[run])
		delete(p.byRun, run)
	}
}

func (p *PlanCache) put(run string, plan json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byRun == nil || p.size+len(plan) > maxPlanBytes {
		p.byRun, p.size = map[string]json.RawMessage{}, 0
	}
	p.byRun[run] = plan
	p.size += len(plan)
}
