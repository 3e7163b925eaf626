package engine

import (
	"errors"
	"slices"
	"strings"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// WorkerAccount is one of the user's accounts that a worker can use for an agent.
type WorkerAccount struct {
	Agent   string
	Name    string
	Reserve bool // used only while the agent's accounts without Reserve are paused
}

// AccountName returns the name of the [store.Account] row for an agent with one of the user's
// accounts. The engine pauses this row if an attempt with this agent and account reaches a rate
// limit. agent is the name of an agent, or a fallback such as claude:haiku. account is the name of
// the user's account, or empty if the agent's program uses its own account.
func AccountName(agent, account string) string {
	if account == "" {
		return agent
	}
	return agent + "/" + account
}

// accountOf returns the name of the [store.Account] row of the agent and the account that the
// attempt a at the task t uses.
func accountOf(a store.Attempt, t store.Task) string {
	if a.Fallback != "" {
		return AccountName(a.Fallback, a.Account)
	}
	return AccountName(t.Agent(), a.Account)
}

// agentOfAttempt returns the name of the agent that the attempt a at the task t uses.
func agentOfAttempt(a store.Attempt, t store.Task) string {
	if a.Fallback != "" {
		name, _ := plan.SplitAgent(a.Fallback)
		return name
	}
	return t.Agent()
}

// AgentOfAttempt returns the agent and the model of an attempt at a task. fallback is the fallback
// that the attempt uses. If it is empty, the attempt uses the agent and the model of the task.
func AgentOfAttempt(spec plan.Task, fallback string) (agent, model string) {
	if fallback != "" {
		return plan.SplitAgent(fallback)
	}
	return AgentOf(spec), spec.Model
}

// chainName returns the name of the [store.Account] row for tasks that have fallback agents. The
// parameter agents contains the task's own agent and its fallbacks, in the order in which they are
// tried.
func chainName(agents []string) string { return strings.Join(agents, " > ") }

// pool is a set of accounts of agents, and says which of them are paused. It has the accounts of
// one worker (see workerPool), or those of all workers together (see sharedPool).
type pool struct {
	rows map[string]store.Account // all accounts in the store, by name
	// accounts returns the user's accounts for an agent. If there are none, the agent's program
	// uses its own account.
	accounts func(agent string) []WorkerAccount
	allows   func(agent string) bool // reports whether the worker runs this agent
	chains   bool                    // whether the worker can use the fallback agents of a task
}

// sharedPool returns the accounts of all workers together, as rememberPool has stored them.
func (c *txContext) sharedPool() (*pool, error) {
	list, err := c.Accounts()
	if err != nil {
		return nil, err
	}
	p := &pool{rows: map[string]store.Account{}, allows: func(string) bool { return true }, chains: true}
	for _, row := range list {
		p.rows[row.Name] = row
	}
	p.accounts = func(agent string) (all []WorkerAccount) {
		for _, name := range p.rows[agent].Pool {
			all = append(all, WorkerAccount{Agent: agent, Name: name})
		}
		return all
	}
	return p, nil
}

// workerPool returns the accounts that the worker of the claim r can use.
func workerPool(r Claim, shared *pool) *pool {
	return &pool{
		rows: shared.rows, chains: r.Fallbacks,
		allows: func(agent string) bool { return len(r.Agents) == 0 || slices.Contains(r.Agents, agent) },
		accounts: func(agent string) (own []WorkerAccount) {
			for _, a := range r.Accounts {
				if a.Agent == agent {
					own = append(own, a)
				}
			}
			return own
		},
	}
}

func (p *pool) paused(account string) bool { return !p.rows[account].Until.IsZero() }

// free returns the accounts of an agent that are not paused, in the order of the pool. The
// parameter "as" is the name of the agent. For a fallback agent, it is the fallback as written in
// the plan, such as claude:haiku. An account has separate pauses for each of these names. If the
// pool has no account of the agent, the agent's program uses its own account. If that account is
// not paused, free returns it with an empty name.
func (p *pool) free(agent, as string) (list []WorkerAccount) {
	all := p.accounts(agent)
	if len(all) == 0 {
		all = []WorkerAccount{{Agent: agent}}
	}
	for _, a := range all {
		if !p.paused(AccountName(as, a.Name)) {
			list = append(list, a)
		}
	}
	return list
}

// use says which agent an attempt can use, and which accounts of this agent.
type use struct {
	fallback string          // the fallback as written in the plan; empty if the task's own agent is used
	accounts []WorkerAccount // the agent's accounts that are not paused, in the order of the pool
}

// choose chooses the agent for the next attempt at a task. The parameter agents contains the task's
// own agent and its fallbacks, in order of preference. choose returns the first agent that the
// worker runs and that has an account that is not paused, with all such accounts. A worker that
// cannot use fallbacks gets only the task's own agent. ok is false if there is no such agent. ok is
// also false if the worker does not run an earlier agent in the list, but shared (the accounts of
// all workers) has an account of that agent that is not paused: then another worker can start the
// task with that agent.
func (p *pool) choose(agents []string, shared *pool) (u use, ok bool) {
	for i, name := range agents {
		agent, fallback := name, ""
		if i > 0 {
			agent, _ = plan.SplitAgent(name)
			fallback = name
		}
		switch list := p.free(agent, name); {
		case !p.allows(agent) && len(shared.free(agent, name)) > 0:
			return u, false
		case p.allows(agent) && len(list) > 0:
			return use{fallback, list}, true
		case !p.chains:
			return u, false
		}
	}
	return u, false
}

// blocked returns names of [store.Account] rows. Tasks that have one of these names in their field
// Account cannot start with the accounts of this pool. The parameter shared contains the accounts
// of all workers (see choose).
func (p *pool) blocked(shared *pool) (names []string) {
	known := map[string]bool{}
	add := func(name string, agents []string) {
		if known[name] {
			return
		}
		known[name] = true
		if _, ok := p.choose(agents, shared); !ok {
			names = append(names, name)
		}
	}
	for name, row := range p.rows {
		switch {
		case len(row.Chain) > 0:
			add(name, row.Chain)
		// Leave out agents that the worker does not run: the worker never claims their tasks.
		case p.allows(name):
			add(name, []string{name})
		}
	}
	slices.Sort(names)
	return names
}

// chainNames returns the names of the [store.Account] rows for tasks with fallback agents (see
// chainName). It leaves out the names in the parameter blocked.
func (p *pool) chainNames(blocked []string) (names []string) {
	for name, row := range p.rows {
		if len(row.Chain) > 0 && !slices.Contains(blocked, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// pickAccount returns the name of the account for a new attempt. It prefers accounts without
// Reserve, then accounts with fewer running attempts, then accounts that come first in the slice
// free. This slice must not be empty.
func (c *txContext) pickAccount(free []WorkerAccount) (string, error) {
	if len(free) == 1 {
		return free[0].Name, nil
	}
	running, err := store.RunningAttempts(c)
	if err != nil {
		return "", err
	}
	count := map[string]int{}
	for _, a := range running {
		count[a.Account]++
	}
	best := slices.MinFunc(free, func(a, b WorkerAccount) int {
		if a.Reserve != b.Reserve {
			if b.Reserve {
				return -1
			}
			return 1
		}
		return count[a.Name] - count[b.Name]
	})
	return best.Name, nil
}

// rememberPool stores the names of a worker's accounts, by agent, so that the engine knows when all
// accounts of an agent are paused. The empty name means the account that the agent's program uses
// by itself. If replace is true, the worker's accounts of an agent replace the stored accounts of
// that agent. If not, they are added to the stored accounts. If a stored list changes, changed is
// true, and rememberPool makes the tasks ready that can now start.
func (c *claims) rememberPool(r Claim, stored *pool, replace bool) (changed bool, err error) {
	byAgent := map[string][]string{}
	var agents []string
	for _, a := range r.Accounts {
		if byAgent[a.Agent] == nil {
			agents = append(agents, a.Agent)
		}
		byAgent[a.Agent] = append(byAgent[a.Agent], a.Name)
	}
	// If other workers have accounts of an agent and this worker has none, the agent's program uses
	// its own account on this worker. So add the empty name, which stands for that account.
	for _, row := range stored.rows {
		own := len(r.Agents) == 0 || slices.Contains(r.Agents, row.Name)
		if len(row.Pool) > 0 && byAgent[row.Name] == nil && own && !r.Only && !replace {
			agents, byAgent[row.Name] = append(agents, row.Name), []string{""}
		}
	}
	slices.Sort(agents)
	for _, agent := range agents {
		row, names := stored.rows[agent], byAgent[agent]
		if !replace {
			names = unique(append(slices.Clone(row.Pool), names...))
		}
		if slices.Equal(names, row.Pool) {
			continue
		}
		row.Name, row.Pool, changed = agent, names, true
		c.PutAccount(row)
		if err := c.event(store.Event{Kind: "lane.accounts", Why: "workers use " + strings.TrimSuffix(strings.Join(names, ", "), ", ")}, row); err != nil {
			return changed, err
		}
	}
	if !changed {
		return false, nil
	}
	return true, c.states.makeAllReady()
}

// rememberChain stores the [store.Account] row for tasks with fallback agents. The parameter agents
// contains the tasks' own agent and its fallbacks. rememberChain does nothing if the store already
// has the row.
func (s *submissions) rememberChain(agents []string) error {
	name := chainName(agents)
	if _, err := s.Account(name); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	row := store.Account{Name: name, Chain: agents}
	s.PutAccount(row)
	return s.event(store.Event{Kind: "lane.accounts", Why: "tasks with fallbacks"}, row)
}
