package recorder

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/session"
)

// sessionState is the state of a run in terms of the session protocol, which calls tasks agents. It
// is created from the run's rows, and then the run's events are applied to it.
type sessionState struct {
	status     session.Status
	stopping   bool            // the run starts no more tasks
	agentIndex map[string]int  // by task id: the index of the task in status.Agents and in the field attempts
	attempts   []attemptCounts // number of attempts at each task, with the same indexes as status.Agents
	beads      map[string]bead // by task id: the bead (work item of the ledger) for which the task was created, if any
	changed    map[int]bool    // indexes in status.Agents of agents with unwritten changes
	unwritten  bool            // the written document differs from this state
}

// attemptCounts holds the numbers of started and ended attempts at a task.
type attemptCounts struct{ started, ended int }

// newSessionState returns the state of a run before its first event.
func newSessionState(run store.Run, tasks []store.Task, project string) (*sessionState, error) {
	p := &sessionState{agentIndex: make(map[string]int, len(tasks)), attempts: make([]attemptCounts, 0, len(tasks)), beads: map[string]bead{}, changed: map[int]bool{}, unwritten: true}
	p.status = session.Status{
		Source: sourceOf(run), SourceFile: run.SourceFile, StartedAt: session.Time{Time: run.Created},
		Status: session.Running, Waves: []session.Wave{},
	}
	if len(tasks) == 0 {
		// openFrom skips the past events of a run without tasks. So take the status of such a run
		// from its row.
		p.applyRun(run)
	}
	waves := wavesOf(tasks)
	for i, t := range tasks {
		if err := p.add(t, waves[i], project); err != nil {
			return nil, err
		}
	}
	p.status.Waves = sessionWaves(p.status.Agents)
	return p, nil
}

// add adds a task to the state, as a queued agent.
func (p *sessionState) add(t store.Task, wave int, project string) error {
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return fmt.Errorf("task %s: %w", t.Task, err)
	}
	p.agentIndex[t.Task] = len(p.status.Agents)
	p.attempts = append(p.attempts, attemptCounts{})
	if spec.Dispatch != nil {
		p.beads[t.Task] = beadOf(t.Run, t.Task, spec.Dispatch)
	}
	p.status.Agents = append(p.status.Agents, session.Agent{
		ID: t.Task, Name: cmp.Or(t.Name, t.Task), PromptPath: relativeTo(project, spec.PromptFile),
		Status: session.Queued, Wave: &wave, Model: engine.AgentOf(spec),
	})
	return nil
}

// addLater adds a task that was added to the run after the state p was created. It puts the task in
// the first wave.
func (p *sessionState) addLater(t store.Task, project string) error {
	if err := p.add(t, 1, project); err != nil {
		return err
	}
	p.status.Waves = sessionWaves(p.status.Agents)
	p.unwritten = true
	return nil
}

// bead returns the bead of a task: the work item under which the ledger records the attempts.
func (p *sessionState) bead(run, task string) bead {
	if b, ok := p.beads[task]; ok {
		return b
	}
	return beadOf(run, task, nil)
}

// sourceOf returns how a run was created, as a word of the session protocol. If the protocol has no
// word for it, it returns the word for a run that was created from a plan file.
func sourceOf(run store.Run) string {
	if slices.Contains(session.Sources(), run.Source) {
		return run.Source
	}
	return plan.SourceOrchestrate
}

// relativeTo returns the path of file relative to folder. If the file is not in the folder, it
// returns the path unchanged.
func relativeTo(folder, file string) string {
	relative, err := filepath.Rel(folder, file)
	if !filepath.IsAbs(file) || err != nil || relative == ".." || strings.HasPrefix(relative, "../") {
		return file
	}
	return filepath.ToSlash(relative)
}

// wavesOf returns the wave number of each task. A wave is a group of tasks in the session protocol.
// If the plan gives every task a wave, wavesOf returns these numbers. Otherwise it computes the
// numbers, so that each task is in a later wave than all tasks that it waits for.
func wavesOf(tasks []store.Task) []int {
	waves := make([]int, len(tasks))
	given, p := true, plan.Plan{}
	for i, t := range tasks {
		waves[i] = t.Wave
		given = given && t.Wave > 0
		p.Tasks = append(p.Tasks, plan.Task{ID: t.Task, Wave: t.Wave, After: t.Needs})
	}
	if given {
		return waves
	}
	layer := map[string]int{}
	for n, ids := range p.Waves() {
		for _, id := range ids {
			layer[id] = n + 1
		}
	}
	for i, t := range tasks {
		waves[i] = max(layer[t.Task], 1)
	}
	return waves
}

// sessionWaves returns the waves of a session, each with the ids of its agents.
func sessionWaves(agents []session.Agent) []session.Wave {
	members := map[int][]string{}
	for _, a := range agents {
		members[*a.Wave] = append(members[*a.Wave], a.ID)
	}
	waves := []session.Wave{}
	for _, n := range slices.Sorted(maps.Keys(members)) {
		waves = append(waves, session.Wave{Wave: n, Agents: members[n]})
	}
	return waves
}

func (p *sessionState) ended() bool { return p.status.Status.Final() }

// isKnownTask reports whether an event only says that a task was added, and p already has this
// task. If so, it marks the task as changed, and the caller need not decode the event. That saves
// time, because a large run has thousands of these events.
func (p *sessionState) isKnownTask(e store.Event) bool {
	i, known := p.agentIndex[e.Task]
	if !known || e.Kind != "task.queued" || e.From != "" {
		return false
	}
	p.changed[i], p.unwritten = true, true
	return true
}

// apply updates the state with a decoded event.
func (p *sessionState) apply(n eventContent) {
	switch i, known := p.agentIndex[n.Task]; {
	case n.run != nil:
		p.applyRun(*n.run)
	case !known:
		return
	case n.task != nil:
		p.status.Agents[i] = afterStatusChange(p.status.Agents[i], n)
		p.changed[i] = true
		p.attempts[i].apply(n)
	case p.status.Agents[i].Status == session.Running:
		p.status.Agents[i].PID = pidOf(*n.attempt)
		p.changed[i] = true
	}
	p.unwritten = true
}

func (p *sessionState) applyRun(run store.Run) {
	p.stopping = run.Stopping != ""
	p.status.Status = session.State(run.Status)
	p.status.CompletedAt = session.Time{Time: run.Ended}
}

func (t *attemptCounts) apply(n eventContent) {
	if n.attempt == nil {
		return
	}
	t.started = n.attempt.Number
	if n.attempt.Status.Final() {
		t.ended = n.attempt.Number
	}
}

// contents returns what the session document must contain, and the indexes of the agents that have
// changed since the last write.
func (p *sessionState) contents() session.Contents {
	return session.Contents{Status: &p.status, Changed: slices.Collect(maps.Keys(p.changed))}
}

// written must be called after the document was written. It marks all changes as written.
func (p *sessionState) written() {
	clear(p.changed)
	p.unwritten = false
}
