package beadrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gaffer/internal/attempt/runlock"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/attempt/tmux"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/record/pending"
	"gaffer/internal/record/recorder"
	"gaffer/ledger"
	"gaffer/statefile/timestamp"
)

// Polled describes an attempt that is running according to gaffer's store or according to its
// record in the ledger (the project's folder of records of attempts).
type Polled struct {
	Bead    string `json:"bead"`
	Attempt int    `json:"attempt"`
	Agent   string `json:"agent"`
	// State is the state of the agent: running, waiting or retrying. It is "unattended" if the
	// agent runs but no gaffer process executes the run. It is "stale" if neither a process of the
	// agent nor a gaffer process for the run is alive.
	State string `json:"state"`
	// Why explains State to the user: what the agent is doing, how gaffer knows that the agent
	// runs, or what the user can do.
	Why     string    `json:"why,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Run     string    `json:"run,omitempty"` // id of gaffer's run; empty if only the ledger has the attempt
	Task    string    `json:"task,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Session string    `json:"session,omitempty"`
	// Repaired is the outcome of this attempt, if Poll has repaired its records. Otherwise it is
	// empty.
	Repaired string `json:"repaired,omitempty"`
}

// Values of Polled.State for attempts that no gaffer process executes.
const (
	Unattended = "unattended"
	Stale      = "stale"
)

// Poll returns the attempts that are running according to the store or to the records in this
// project's ledger, with their real state. If repair is true, Poll also records how the attempts
// whose state is [Stale] have ended, and sets their field Repaired. If the error is a
// [*pending.UnwrittenError], the list is still valid: the outcomes are in the store, but some
// documents of a run could not be written.
func (b *Beads) Poll(ctx context.Context, repair bool) ([]Polled, error) {
	ours, err := b.pollRuns(ctx)
	if err != nil {
		return nil, err
	}
	var unwritten error
	if repair {
		unwritten = b.repairRuns(ctx, ours)
		if owed := (*pending.UnwrittenError)(nil); unwritten != nil && !errors.As(unwritten, &owed) {
			return nil, unwritten
		}
	}
	known := map[string]bool{}
	for _, p := range ours {
		known[attemptName(p.Bead, p.Attempt)] = true
	}
	others, err := b.pollRecords(ctx, known, repair)
	return append(ours, others...), cmp.Or(err, unwritten)
}

func attemptName(bead string, attempt int) string { return fmt.Sprintf("%s %d", bead, attempt) }

// pollRuns returns the attempts that are running according to the store.
func (b *Beads) pollRuns(ctx context.Context) (list []Polled, err error) {
	alive := map[string]bool{}
	processes, err := supervisor.ListMarked()
	if err != nil {
		return nil, fmt.Errorf("which agents are alive: %w", err)
	}
	for _, p := range processes {
		alive[p.Attempt] = true
	}
	err = b.opts.Store.Read(ctx, func(r store.Reader) error {
		runs, err := b.opts.Runs(r, false)
		if err != nil {
			return err
		}
		list = nil
		for _, run := range runs {
			running, err := runquery.Running(r, run.ID)
			if err != nil {
				return err
			}
			for _, one := range running {
				p, err := polled(one)
				if err != nil {
					return err
				}
				p.judge(one.Attempt, b.opts.Locks.Owner(run.ID).Alive, alive[one.Attempt.ID])
				list = append(list, p)
			}
		}
		return nil
	})
	return list, err
}

func polled(one engine.Assignment) (Polled, error) {
	spec, err := plan.DecodeTask(one.Task.Spec)
	if err != nil {
		return Polled{}, fmt.Errorf("task %s: %w", one.Task.Task, err)
	}
	bead, earlier := recorder.BeadName(one.Task, spec)
	agent, _ := engine.AgentOfAttempt(spec, one.Attempt.Fallback)
	p := Polled{
		Bead: bead, Attempt: earlier + one.Attempt.Number, Agent: agent,
		Started: one.Attempt.Started, Run: one.Task.Run, Task: one.Task.Task, PID: one.Attempt.PID,
	}
	if d := spec.Dispatch; d != nil {
		p.Session = d.Session
	}
	return p, nil
}

// judge sets p.State to the real state of the attempt a. The store says that a is running, but its
// processes may have ended. watched is true if a gaffer process executes the attempt's run. alive
// is true if a process of the attempt's agent is alive.
func (p *Polled) judge(a store.Attempt, watched, alive bool) {
	switch {
	case watched && a.State != "":
		p.State, p.Why = a.State, a.Doing
	case watched:
		p.State = string(store.Running)
	case alive:
		p.State, p.Why = Unattended, fmt.Sprintf("'gaffer resume %s' continues the run", p.Run)
	default:
		p.State, p.Why, p.PID = Stale, "none of its processes is alive, and no gaffer works on its run", 0
	}
}

// repairRuns records in the store how the attempts in list whose state is Stale have ended, and
// sets their field Repaired.
func (b *Beads) repairRuns(ctx context.Context, list []Polled) error {
	stale := map[string]map[string]bool{}
	for _, p := range list {
		if p.State != Stale {
			continue
		}
		if stale[p.Run] == nil {
			stale[p.Run] = map[string]bool{}
		}
		stale[p.Run][p.Task] = true
	}
	var unwritten error
	for run, tasks := range stale {
		err := b.opts.Collect(ctx, run, func(t store.Task) bool { return tasks[t.Task] })
		if owned := (*runlock.OwnedError)(nil); errors.As(err, &owned) {
			continue // another gaffer process executes the run now: skip it
		}
		if owed := (*pending.UnwrittenError)(nil); errors.As(err, &owed) {
			unwritten = err
			continue
		}
		if err != nil {
			return fmt.Errorf("repair run %s: %w", run, err)
		}
	}
	for i, p := range list {
		if p.State != Stale {
			continue
		}
		if err := b.outcome(ctx, &list[i]); err != nil {
			return err
		}
	}
	return unwritten
}

// outcome sets p.Repaired to the outcome that the store has for the attempt that p describes. It
// does nothing if the attempt has not ended. If the task will be tried again, outcome says so in
// p.Why.
func (b *Beads) outcome(ctx context.Context, p *Polled) error {
	return b.opts.Store.Read(ctx, func(r store.Reader) error {
		t, err := r.Task(store.TaskKey{Run: p.Run, Task: p.Task})
		if err != nil || t.LastAttempt == "" || t.RunningAttempt != "" {
			return err
		}
		last, err := r.Attempt(t.LastAttempt)
		if err != nil {
			return err
		}
		p.Repaired = string(last.Status)
		if last.Class != "" {
			p.Repaired = string(last.Class)
		}
		if t.Status == store.Queued {
			p.Why = fmt.Sprintf("it will be tried again: 'gaffer resume %s'", p.Run)
		}
		return nil
	})
}

// pollRecords returns the attempts that are running according to the ledger's records but not
// according to the store. These are attempts of other programs, and ended attempts of gaffer whose
// records were not completed. inStore has the names of the attempts that are running according to
// the store. If repair is true, pollRecords also completes the records of the attempts whose state
// is Stale.
func (b *Beads) pollRecords(ctx context.Context, inStore map[string]bool, repair bool) (list []Polled, err error) {
	err = b.opts.Ledger.Unfinished(ctx, func(r ledger.Attempt) error {
		if inStore[attemptName(r.Bead, r.Attempt)] {
			return nil
		}
		p := Polled{Bead: r.Bead, Attempt: r.Attempt, Agent: r.Agent, Session: "agent-" + r.Bead}
		p.Started, _ = timestamp.Parse(r.StartedAt, time.UTC) // zero if the time cannot be parsed
		list = append(list, p)
		return nil
	})
	if err != nil || len(list) == 0 {
		return list, err
	}
	evidence, err := b.findEvidence(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		p := &list[i]
		if p.Why = evidence.of(p.Bead); p.Why != "" {
			p.State = string(store.Running)
			continue
		}
		p.State, p.Why = Stale, "none of its processes is alive"
		p.Session = ""
	}
	if repair {
		err = b.repairRecords(ctx, list)
	}
	return list, err
}

// liveAgents holds evidence of running agents, for attempts that the store does not list as
// running.
type liveAgents struct {
	sessions map[string]bool // names of the sessions in the user's own tmux server
	beads    map[string]bool // ids of this ledger's beads that the environments of running processes name
}

func (e liveAgents) of(bead string) string {
	switch {
	case e.beads[bead]:
		return "a process carries its name"
	case e.sessions["agent-"+bead]:
		return "the tmux session agent-" + bead + " is there"
	}
	return ""
}

func (b *Beads) findEvidence(ctx context.Context) (liveAgents, error) {
	e := liveAgents{sessions: map[string]bool{}, beads: map[string]bool{}}
	processes, err := supervisor.ListMarked()
	if err != nil {
		return e, fmt.Errorf("which agents are alive: %w", err)
	}
	for _, p := range processes {
		if bead, ours := beadInEnvironment(p.Env, b.opts.LedgerDir); ours {
			e.beads[bead] = true
		}
	}
	for _, name := range tmux.UserSessions(ctx) {
		e.sessions[name] = true
	}
	return e, nil
}

// beadInEnvironment returns the id of the bead that the environment of a process names. ours is
// true if the environment also names the ledger at ledgerDir.
func beadInEnvironment(env []string, ledgerDir string) (bead string, ours bool) {
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		switch name {
		case "GAFFER_BEAD":
			bead = value
		case "GAFFER_LEDGER":
			ours = value == ledgerDir
		}
	}
	return bead, ours && bead != ""
}

// repairRecords completes the ledger's records of the attempts in list whose state is Stale. A
// record gets the outcome that the store has for its attempt. If the store has none, the record
// says that the attempt was lost.
func (b *Beads) repairRecords(ctx context.Context, list []Polled) error {
	stale := map[string]*Polled{}
	for i, p := range list {
		if p.State == Stale {
			stale[attemptName(p.Bead, p.Attempt)] = &list[i]
		}
	}
	if len(stale) == 0 {
		return nil
	}
	if err := b.finishRecords(ctx, stale); err != nil {
		return err
	}
	for name, p := range stale {
		_, err := b.opts.Ledger.Finish(ctx, ledger.Result{
			Bead: p.Bead, Attempt: p.Attempt, Status: ledger.Failed, Reason: string(failure.Lost),
		})
		if other := (*ledger.ImmutableError)(nil); errors.As(err, &other) {
			continue // another program has completed the record in the meantime: skip it
		}
		if err != nil {
			p.Why = err.Error()
			continue
		}
		p.Repaired = string(failure.Lost)
		delete(stale, name)
	}
	return nil
}

// finishRecords handles those attempts in the map stale that belong to runs of this project. It
// writes the missing ledger records of these runs, sets the field Repaired of the attempts, and
// removes them from the map.
func (b *Beads) finishRecords(ctx context.Context, stale map[string]*Polled) error {
	var runs []store.Run
	err := b.opts.Store.Read(ctx, func(r store.Reader) (err error) {
		runs, err = b.opts.Runs(r, true)
		return err
	})
	if err != nil {
		return err
	}
	for _, run := range runs {
		mine, err := b.recordedBy(ctx, run.ID, stale)
		if err != nil {
			return err
		}
		if len(mine) == 0 {
			continue
		}
		if err := b.opts.Recorder(run).Flush(ctx); err != nil {
			return fmt.Errorf("documents of run %s: %w", run.ID, err)
		}
		for name, outcome := range mine {
			stale[name].Repaired, stale[name].Run = outcome, run.ID
			delete(stale, name)
		}
	}
	return nil
}

// recordedBy finds the attempts in the map stale that belong to the run. It returns a map from the
// name of each such attempt to the status that the store has for the attempt's task.
func (b *Beads) recordedBy(ctx context.Context, run string, stale map[string]*Polled) (mine map[string]string, err error) {
	mine = map[string]string{}
	err = b.opts.Store.Read(ctx, func(r store.Reader) error {
		tasks, err := r.Tasks(run)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			spec, err := plan.DecodeTask(t.Spec)
			if err != nil {
				return err
			}
			bead, earlier := recorder.BeadName(t, spec)
			for n := 1; n <= t.Tries; n++ {
				name := attemptName(bead, earlier+n)
				if stale[name] != nil {
					mine[name] = string(t.Status)
				}
			}
		}
		return nil
	})
	return mine, err
}
