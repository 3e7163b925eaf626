package engine

import (
	"errors"
	"slices"
	"strings"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// WorkerAccount is one of the user's accounts of an agent that a worker can use.
type WorkerAccount struct {
	Agent   string
	Name    string
	Reserve bool // used only while all other accounts of the agent are paused
}

// AccountName returns the name of the [store.Account] that is paused if an attempt reaches a rate
// limit. agent is the name of an agent, or a fallback such as claude:haiku. account is the name of
// the user's account, or empty if the program uses its own.
func AccountName(agent, account string) string {
	if account == "" {
		return agent
	}
	return agent + "/" + account
}

// accountOf returns the name of the [store.Account] that an attempt at the task t uses.
func accountOf(a store.Attempt, t store.Task) string {
	if a.Fallback != "" {
		return AccountName(a.Fallback, a.Account)
	}
	return AccountName(t.Agent(), a.Account)
}

// agentOfAttempt returns the name of the agent that works on an attempt at the task t.
func agentOfAttempt(a store.Attempt, t store.Task) string {
	if a.Fallback != "" {
		name, _ := plan.SplitAgent(a.Fallback)
		return name
	}
	return t.Agent()
}

// AgentOfAttempt returns the agent and the model of an attempt at a task: those of the task, or
// those of the fallback that the attempt uses.
func AgentOfAttempt(spec plan.Task, fallback string) (agent, model string) {
	if fallback != "" {
		return plan.SplitAgent(fallback)
	}
	return AgentOf(spec), spec.Model
}

// chainName returns the name of the [store.Account] for tasks that several agents may work on.
func chainName(agents []string) string { return strings.Join(agents, " > ") }

// pool says which accounts of agents are paused, and which accounts can be used: those of one
// worker, or those that workers have used last.
type pool struct {
	rows     map[string]store.Account
	accounts func(agent string) []WorkerAccount // empty means that the agent's program uses its own account
	allows   func(agent string) bool            // whether the worker runs this agent
	chains   bool                               // whether the worker can use fallbacks
}

// sharedPool returns the accounts that workers have used last, whatever worker that was.
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

// workerPool returns the accounts that a worker can use.
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

// free returns the accounts that can be used now for an agent or a fallback, in the order of the
// pool. If the program uses its own account, that is one account without a name.
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

// use is what an attempt uses to work on a task.
type use struct {
	fallback string          // the fallback, as the plan has it; empty if it is the task's own agent
	accounts []WorkerAccount // the accounts that are free, in the order of the pool
}

// choose returns the first of a task's agents that is not paused. agents are the task's own agent
// and its fallbacks. An agent that the worker does not run counts as paused only if all its accounts
// in shared are paused. ok is false if there is none.
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

// blocked returns the names of the accounts whose tasks cannot start.
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
		case p.allows(name): // the query selects only tasks of agents that the worker runs
			add(name, []string{name})
		}
	}
	slices.Sort(names)
	return names
}

// chainNames returns the names of the accounts for tasks that several agents may work on, without
// those in blocked.
func (p *pool) chainNames(blocked []string) (names []string) {
	for name, row := range p.rows {
		if len(row.Chain) > 0 && !slices.Contains(blocked, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// pickAccount returns the account for a new attempt: one that is not in reserve, if there is one;
// among those, the one with the fewest running attempts; among these, the first of the pool.
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

// rememberPool stores which accounts a worker has, so that the engine knows when all accounts of an
// agent are paused. An empty name stands for the program's own account. rememberPool adds to the
// accounts that are stored; with replace, it replaces them. Tasks that can start with an added
// account become ready. rememberPool reports whether it has changed something.
func (c *claims) rememberPool(r Claim, stored *pool, replace bool) (changed bool, err error) {
	byAgent := map[string][]string{}
	var agents []string
	for _, a := range r.Accounts {
		if byAgent[a.Agent] == nil {
			agents = append(agents, a.Agent)
		}
		byAgent[a.Agent] = append(byAgent[a.Agent], a.Name)
	}
	for _, row := range stored.rows { // the worker may lack the accounts that another worker has
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
	return true, c.schedule.makeAllReady()
}

// rememberChain stores which agents may work on the tasks of an account.
func (s *submissions) rememberChain(agents []string) error {
	name := chainName(agents)
	if _, err := s.Account(name); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	row := store.Account{Name: name, Chain: agents}
	s.PutAccount(row)
	return s.event(store.Event{Kind: "lane.accounts", Why: "tasks with fallbacks"}, row)
}
