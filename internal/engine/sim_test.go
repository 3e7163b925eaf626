package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gaffer/fleet"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/engine/store/storetest"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

var (
	seed = flag.Uint64("seed", 0, "simulate only this seed")
	runs = flag.Int("runs", 0, "how many runs to simulate; 0 means as many as the test level wants")
)

func TestSimulatedFleetsKeepAllInvariants(t *testing.T) {
	simulateRuns(t, runCount(testenv.Count(500, 3000, 100_000)), inMemory)
}

// runCount returns how many runs to simulate: the value of the flag -runs, or the default of the
// test level if the flag is not set.
func runCount(level int) int {
	if *runs > 0 {
		return *runs
	}
	return level
}

// simulateRuns simulates one seed after the other until at least want runs were submitted. If the
// flag -seed is set, it simulates only that seed.
func simulateRuns(t *testing.T, want int, open func(*world) store.Store) {
	t.Helper()
	runs, givenUp := 0, 0
	for s := max(*seed, 1); runs < want; s++ {
		w, err := simulate(s, open)
		if err != nil {
			t.Fatalf("%v\nhave it again: go test ./internal/engine -run '^%s$' -seed %d", err, t.Name(), s)
		}
		givenUp += w.givenUp
		if runs += len(w.runs); *seed != 0 {
			break
		}
	}
	t.Logf("%d runs; %d tasks were given up because they killed their workers", runs, givenUp)
	if givenUp == 0 && runs >= 1000 {
		t.Error("no task reached the limit of lost attempts: the simulation does not show that it holds")
	}
}

// inMemory returns a store in memory in which commits fail at random. A commit that fails may or
// may not have stored its changes.
func inMemory(w *world) store.Store {
	s := memory.New()
	s.FailCommit = w.failCommit
	return s
}

// world is a simulated fleet on one store. It has two coordinators, some workers, a clock that
// jumps, and commits that fail.
type world struct {
	begun   map[string]bool // ids of the attempts whose start was checked
	rng     *rand.Rand
	now     time.Time
	ids     int
	store   store.Store
	engines []*engine.Engine
	workers []*worker
	runs    []string
	keys    []string // idempotency keys of all submissions; some are used again
	since   time.Time
	steady  bool        // set at the end of a simulation: no more faults are injected
	givenUp int         // number of tasks that failed because too many of their attempts were lost
	talk    simMessages // messages that simulated users have sent to agents
	log     []string
}

// worker is a simulated worker. It may forget its running attempts, as if it had crashed.
type worker struct {
	id     string
	labels []string
	// accounts are the accounts of the worker. A worker may get others when it starts again.
	accounts []engine.WorkerAccount
	held     []engine.Assignment
	done     []engine.Finish // reports of ended attempts, some of which are sent again
	claims   []sentClaim     // earlier claims, some of which are sent again
	silent   int             // number of further steps in which the worker claims, beats and finishes nothing
}

// sentClaim is a claim that a worker has sent.
type sentClaim struct {
	key      string                 // idempotency key
	accounts []engine.WorkerAccount // the accounts that the worker had when it sent the claim first
}

func newWorld(seed uint64, open func(*world) store.Store) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC), begun: map[string]bool{}}
	w.store = open(w)
	for range 2 {
		w.engines = append(w.engines, engine.New(w.store, engine.Options{
			Now: func() time.Time { return w.now }, NewID: w.newID, Rand: w.rng.Float64, Lease: time.Minute, Zone: time.UTC,
		}))
	}
	for i := range 1 + w.rng.IntN(4) {
		worker := &worker{id: fmt.Sprint("w", i)}
		if w.chance(2) {
			worker.labels = []string{"gpu"}
		}
		worker.accounts = w.accounts()
		w.workers = append(w.workers, worker)
	}
	w.workers[0].labels = []string{"gpu"} // the first worker has all labels, so that it can run every task
	return w
}

// accounts returns random accounts of a worker; often none.
func (w *world) accounts() (list []engine.WorkerAccount) {
	for i := range w.rng.IntN(4) {
		agent := []string{"claude", "codex"}[w.rng.IntN(2)]
		list = append(list, engine.WorkerAccount{Agent: agent, Name: fmt.Sprint(agent, i), Reserve: w.chance(3)})
	}
	return list
}

// claim returns the worker's request for a task.
func (by *worker) claim(key string) engine.Claim {
	return engine.Claim{Worker: by.id, Labels: by.labels, Key: key, Accounts: by.accounts, Fallbacks: by.id != "w1"} // w1 is of an older version
}

func (w *world) newID() string { w.ids++; return fmt.Sprintf("id%d", w.ids) }

// chance returns true once in n calls on average.
func (w *world) chance(n int) bool { return w.rng.IntN(n) == 0 }

func (w *world) engine() *engine.Engine { return w.engines[w.rng.IntN(len(w.engines))] }

var errCommit = errors.New("the commit failed")

// failCommit decides at random whether a commit fails, and whether its changes are lost.
func (w *world) failCommit() (lost bool, err error) {
	if w.steady || !w.chance(25) {
		return false, nil
	}
	return w.chance(2), errCommit
}

// simulate runs the simulation of one seed and returns the world at its end.
func simulate(seed uint64, open func(*world) store.Store) (*world, error) {
	w := newWorld(seed, open)
	if err := w.live(); err != nil {
		return w, fmt.Errorf("seed %d: %w\n%s", seed, err, tail(w.log, 12))
	}
	return w, w.store.Close()
}

func tail(log []string, n int) (text string) {
	for _, line := range log[max(0, len(log)-n):] {
		text += "  " + line + "\n"
	}
	return text
}

func (w *world) live() error {
	for range 20 + w.rng.IntN(60) {
		if err := w.step(); err != nil {
			return err
		}
		if err := w.check(); err != nil {
			return err
		}
		if w.chance(20) {
			if err := w.replay(); err != nil {
				return err
			}
		}
	}
	if err := w.finishAll(); err != nil {
		return err
	}
	return w.replay()
}

// step does one random action in the simulated fleet.
func (w *world) step() error {
	switch w.rng.IntN(17) {
	case 15, 16:
		return w.askForTool(w.workers[w.rng.IntN(len(w.workers))])
	case 0:
		return w.submit()
	case 13, 14:
		return w.speak()
	case 12:
		return w.release(w.workers[w.rng.IntN(len(w.workers))])
	case 1, 2, 3:
		return w.claim(w.workers[w.rng.IntN(len(w.workers))])
	case 4, 5, 6:
		return w.finish(w.workers[w.rng.IntN(len(w.workers))])
	case 7:
		return w.beat(w.workers[w.rng.IntN(len(w.workers))])
	case 8:
		return w.sweep()
	case 9:
		w.passTime()
		return nil
	case 10:
		return w.meddle()
	}
	return w.mishap(w.workers[w.rng.IntN(len(w.workers))])
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, w.now.Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

// expected returns nil if err is an error that clients of the engine must tolerate, and err if not.
func expected(err error) error {
	var conflict interface{ Conflict() bool }
	if errors.Is(err, errCommit) || errors.Is(err, engine.ErrNothing) || errors.As(err, &conflict) {
		return nil
	}
	return err
}

func (w *world) submit() error {
	key := w.newID()
	if len(w.keys) > 0 && w.chance(5) {
		key = w.keys[w.rng.IntN(len(w.keys))] // repeat an earlier key, as a client does that has not received the answer
	}
	w.keys = append(w.keys, key)
	id, err := w.engine().Submit(context.Background(), engine.Submission{Plan: w.plan(), Key: key, Conducted: w.chance(4)})
	w.note("submit %s: %s, %v", key, id, err)
	if err == nil {
		w.runs = append(w.runs, id)
	}
	return expected(err)
}

// deadly is the name of a task that crashes each worker that starts it.
const deadly = "deadly"

// plan returns a random plan.
func (w *world) plan() plan.Plan {
	p := plan.Plan{Name: "p", Parallel: w.rng.IntN(4), OnFailure: plan.Continue}
	if w.chance(3) {
		p.OnFailure = plan.Stop
	} else if w.chance(3) {
		p.OnFailure = plan.StopNow
	}
	if w.chance(3) {
		p.Budget.Tokens = int64(10 + w.rng.IntN(40))
	}
	waves := w.chance(3)
	for i := range 1 + w.rng.IntN(8) {
		t := plan.Task{ID: fmt.Sprint("t", i), Agent: "claude", Limits: plan.Limits{Retries: w.rng.IntN(3)}, Priority: w.rng.IntN(2)}
		if waves {
			t.Wave = 1 + w.rng.IntN(3)
		} else {
			for before := range i {
				if w.chance(3) {
					t.After = append(t.After, fmt.Sprint("t", before))
				}
			}
		}
		if w.chance(4) {
			t.Agent = "codex"
		}
		if w.chance(5) {
			t.Labels = []string{"gpu"}
		}
		if w.chance(3) {
			t.Fallback = []string{"codex", "claude:haiku", "claude"}[w.rng.IntN(3):]
		}
		if w.chance(4) {
			t.Timeout = time.Duration(1+w.rng.IntN(10)) * time.Minute
		}
		if w.chance(5) {
			t.Name = deadly
		}
		t.Budget.Tokens = int64(w.rng.IntN(12))
		t.QuestionRules, t.Permissions = w.permissionsOf()
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

func (w *world) claim(by *worker) error {
	if by.silent > 0 {
		by.silent--
		return nil
	}
	sent := sentClaim{w.newID(), by.accounts}
	if len(by.claims) > 0 && w.chance(6) {
		sent = by.claims[w.rng.IntN(len(by.claims))]
	}
	by.claims = append(by.claims, sent)
	a, err := w.engine().Claim(context.Background(), by.claim(sent.key))
	w.note("%s claims %s: %s %s, %v", by.id, sent.key, a.Task.Task, a.Attempt.ID, err)
	if err != nil {
		return expected(err)
	}
	for _, h := range by.held {
		if h.Attempt.ID == a.Attempt.ID {
			return nil // the claim was a repetition: the worker already has this attempt
		}
	}
	by.held = append(by.held, a)
	w.talk.hear(a.Attempt.ID, a.Messages)
	if !slices.Equal(sent.accounts, by.accounts) {
		w.begun[a.Attempt.ID] = true // the first request may have chosen the account, though its commit seemed to fail
	}
	if err := w.mayStart(by, a); err != nil || w.steady || a.Task.Name != deadly {
		return err
	}
	return w.die(by, a)
}

// die simulates a task that crashes its worker. The worker starts again without its attempts, after
// the engine has ended them and the delay before the task's next attempt is over.
func (w *world) die(by *worker, of engine.Assignment) error {
	w.note("%s is killed by %s", by.id, of.Task.Task)
	by.held = nil
	w.now = w.now.Add(2 * time.Minute)
	if err := w.sweep(); err != nil {
		return err
	}
	w.now = w.now.Add(7 * time.Minute)
	if err := w.sweep(); err != nil {
		return err
	}
	return w.store.Read(context.Background(), func(r store.Reader) error {
		t, err := r.Task(of.Attempt.Key())
		if t.Status == store.Failed && t.Outcome == string(failure.Lost) && t.LastAttempt == of.Attempt.ID {
			w.givenUp++
		}
		return err
	})
}

// mayStart checks that the assigned attempt was allowed to start. It skips an assignment that the
// engine has repeated, because the conditions may have changed since the attempt started: the worker
// may have other accounts.
func (w *world) mayStart(by *worker, a engine.Assignment) error {
	if w.begun[a.Attempt.ID] {
		return nil
	}
	w.begun[a.Attempt.ID] = true
	return w.store.Read(context.Background(), func(r store.Reader) error {
		stored, err := r.Attempt(a.Attempt.ID)
		if err != nil || stored.Status != store.Running || !stored.Started.Equal(w.now) {
			return err
		}
		if err := mayUse(r, by, a); err != nil {
			return err
		}
		tasks, err := r.Tasks(a.Attempt.Run)
		if err != nil {
			return err
		}
		for _, other := range tasks {
			needed := a.Task.Wave > 0 && other.Wave > 0 && other.Wave < a.Task.Wave
			for _, need := range a.Task.Needs {
				needed = needed || need == other.Task
			}
			if needed && other.Status != store.Complete {
				return fmt.Errorf("%s started although %s is %s", a.Task.Task, other.Task, other.Status)
			}
		}
		return nil
	})
}

// mayUse checks the account of an attempt that has just started: the worker has it and it is not
// paused. If the attempt uses a fallback, all accounts of the agents before it are paused.
func mayUse(r store.Reader, by *worker, a engine.Assignment) error {
	agents := a.Task.AllAgents()
	for i, name := range agents {
		agent := name
		if i > 0 {
			agent, _ = plan.SplitAgent(name)
		}
		free, own := []string{}, false
		for _, one := range append([]engine.WorkerAccount{{Agent: agent}}, by.accounts...) {
			if one.Agent != agent || one.Name == "" && slices.ContainsFunc(by.accounts, func(o engine.WorkerAccount) bool { return o.Agent == agent }) {
				continue
			}
			row, err := r.Account(engine.AccountName(name, one.Name))
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			if row.Until.IsZero() {
				free = append(free, one.Name)
			}
		}
		own = i == 0 && a.Attempt.Fallback == "" || i > 0 && a.Attempt.Fallback == name
		switch {
		case own && !slices.Contains(free, a.Attempt.Account):
			return fmt.Errorf("%s uses account %q of %s, of which %q are free", a.Attempt.ID, a.Attempt.Account, name, free)
		case own:
			return nil
		case len(free) > 0:
			return fmt.Errorf("%s uses fallback %s although accounts %q of %s are free", a.Attempt.ID, a.Attempt.Fallback, free, name)
		}
	}
	return fmt.Errorf("%s uses fallback %q, and its agents are %q", a.Attempt.ID, a.Attempt.Fallback, agents)
}

var classes = []failure.Class{
	failure.None, failure.None, failure.None, failure.Crashed, failure.APIError, failure.RateLimited, failure.Stalled,
	failure.ContextOverflow, failure.VerifyFailed, failure.Denied, failure.Cancelled, failure.Auth,
}

func (w *world) finish(by *worker) error {
	if by.silent > 0 {
		by.silent--
		return nil
	}
	if len(by.done) > 0 && w.chance(6) {
		f := by.done[w.rng.IntN(len(by.done))]
		_, err := w.engine().Finish(context.Background(), f)
		w.note("%s repeats the end of %s: %v", by.id, f.Attempt, err)
		return expected(err)
	}
	if len(by.held) == 0 {
		return nil
	}
	i := w.rng.IntN(len(by.held))
	return w.end(by, i, classes[w.rng.IntN(len(classes))])
}

// spend returns how many tokens an attempt has used, at most its limit. An attempt whose task has no
// budget uses none, so that the run's budget holds although nothing is reserved for it.
func (w *world) spend(h engine.Assignment) int64 {
	if h.Task.Reserve.Tokens == 0 {
		return 0
	}
	return w.rng.Int64N(h.Attempt.Limit.Tokens + 1)
}

func (w *world) end(by *worker, i int, class failure.Class) error {
	h := by.held[i]
	f := engine.Finish{Attempt: h.Attempt.ID, Token: h.Attempt.Token, Ending: fleet.Ending{Class: class}}
	f.Spent.Tokens = w.spend(h)
	f.Delivered = w.delivered(h.Attempt.ID, class == failure.None)
	f.Summary = w.answers()
	if class == failure.RateLimited {
		f.Reset = w.now.Add(time.Duration(w.rng.IntN(20)) * time.Minute)
	}
	if h.Attempt.Token%2 == 0 {
		return w.turn(by, i, f)
	}
	f.Key = "end " + h.Attempt.ID
	o, err := w.engine().Finish(context.Background(), f)
	w.note("%s ends %s of %s as %q: %v, %v", by.id, h.Attempt.ID, h.Task.Task, class, o.Status, err)
	if errors.Is(err, errCommit) {
		return nil // the commit has failed: the worker repeats the request in a later step
	}
	by.held = append(by.held[:i:i], by.held[i+1:]...)
	by.done = append(by.done, f)
	return expected(err)
}

// turn ends an attempt and claims the next task in one request.
func (w *world) turn(by *worker, i int, f engine.Finish) error {
	o, next, err := w.engine().FinishAndClaim(context.Background(), f, by.claim(""))
	w.note("%s turns from %s as %q: %v, %v", by.id, f.Attempt, f.Class, o.Status, err)
	if errors.Is(err, errCommit) {
		return nil // the commit has failed: the worker repeats the request in a later step
	}
	by.held = append(by.held[:i:i], by.held[i+1:]...)
	if next != nil {
		by.held = append(by.held, *next)
		w.talk.hear(next.Attempt.ID, next.Messages)
		if err := w.mayStart(by, *next); err != nil {
			return err
		}
	}
	if err != nil {
		return expected(err)
	}
	return w.given(f.Attempt, next)
}

// given checks the result of a turn that has ended the attempt endedID: next must be the attempt
// that the engine has assigned in that turn.
func (w *world) given(endedID string, next *engine.Assignment) error {
	running, err := w.running()
	for _, a := range running {
		if a.After == endedID && (next == nil || next.Attempt.ID != a.ID) {
			return fmt.Errorf("%s was given after %s, and its worker does not know", a.ID, endedID)
		}
	}
	return err
}

func (w *world) beat(by *worker) error {
	if by.silent > 0 {
		by.silent--
		return nil
	}
	var held []engine.HeldAttempt
	for _, h := range by.held {
		report := engine.HeldAttempt{Attempt: h.Attempt.ID, Token: h.Attempt.Token, Delivered: w.delivered(h.Attempt.ID, false)}
		if w.chance(2) {
			report.Now = fleet.Progress{Activity: fleet.Activity{State: "running"}, Spent: store.Amount{Tokens: w.spend(h)}}
		}
		held = append(held, report)
	}
	orders, err := w.engine().Beat(context.Background(), store.Worker{ID: by.id}, held)
	if err != nil {
		return expected(err)
	}
	for _, o := range orders {
		w.talk.hear(o.Attempt, o.Messages)
	}
	for _, o := range orders {
		for i, h := range by.held {
			if h.Attempt.ID != o.Attempt || !o.Gone && o.Stop == "" {
				continue
			}
			if o.Gone { // the engine has ended the attempt: the worker ends the agent and reports nothing
				by.held = append(by.held[:i:i], by.held[i+1:]...)
				break
			}
			return w.end(by, i, failure.Cancelled)
		}
	}
	return nil
}

// release simulates a worker that stops for a while. It releases its attempts, and sends some of
// these requests twice.
func (w *world) release(by *worker) error {
	var held []engine.HeldAttempt
	for _, h := range by.held {
		held = append(held, engine.HeldAttempt{Attempt: h.Attempt.ID, Token: h.Attempt.Token})
	}
	before, err := w.running()
	if err != nil {
		return err
	}
	err = w.engine().Release(context.Background(), by.id, held)
	w.note("%s releases %d attempts: %v", by.id, len(held), err)
	if err != nil {
		return expected(err)
	}
	for _, h := range by.held {
		if err := w.released(before, h.Attempt); err != nil {
			return err
		}
	}
	if w.chance(2) {
		by.held = nil
	}
	return nil
}

// released checks that the task of the released attempt a is queued again, and has not lost a
// retry. old has the attempts as they were before.
func (w *world) released(old map[string]store.Attempt, a store.Attempt) error {
	if was, ok := old[a.ID]; !ok || was.Token != a.Token || was.StopReason != "" {
		return nil // the worker did not hold the attempt, or the attempt was stopped for another reason
	}
	return w.store.Read(context.Background(), func(r store.Reader) error {
		ended, err := r.Attempt(a.ID)
		if err != nil {
			return err
		}
		t, err := r.Task(a.Key())
		if err != nil {
			return err
		}
		all, err := r.Attempts(a.Key())
		counted := 0
		for _, tried := range all {
			if usesAttempt(tried) {
				counted++
			}
		}
		if ended.Class != failure.Released || t.CountedAttempts > counted || t.Status == store.Failed || t.Status == store.Queued && t.NotBefore.After(w.now) {
			return fmt.Errorf("%s was handed back: it is %q, and its task %s with %d attempts of %d", a.ID, ended.Class, t.Status, t.CountedAttempts, counted)
		}
		return err
	})
}

// sweep lets one coordinator do a sweep. The coordinator has received heartbeats without
// interruption since a random time, or always.
func (w *world) sweep() error {
	switch {
	case w.steady, w.chance(3):
		w.since = time.Time{}
	case w.chance(3):
		w.since = w.now
	}
	before, err := w.running()
	if err != nil {
		return err
	}
	if _, err := w.engine().Sweep(context.Background(), w.since); err != nil {
		return expected(err)
	}
	after, err := w.running()
	if err != nil {
		return err
	}
	for id, a := range before {
		if _, runs := after[id]; !runs && (!a.Lease.Before(w.now) || w.now.Before(w.since.Add(time.Minute))) {
			return fmt.Errorf("%s was given up: its lease ended at %s, and nobody could be heard before %s", id, a.Lease, w.since)
		}
	}
	return nil
}

// running returns the running attempts by their ids.
func (w *world) running() (map[string]store.Attempt, error) {
	attempts := map[string]store.Attempt{}
	err := w.store.Read(context.Background(), func(r store.Reader) error {
		all, err := storetest.ReadRows(r)
		for id, a := range all.Attempts {
			if a.Status == store.Running {
				attempts[id] = a
			}
		}
		return err
	})
	return attempts, err
}

func (w *world) passTime() {
	switch {
	case w.chance(10):
		w.now = w.now.Add(-time.Duration(w.rng.IntN(120)) * time.Second)
	case w.chance(10):
		w.now = w.now.Add(time.Duration(w.rng.IntN(48)) * time.Hour)
	default:
		w.now = w.now.Add(time.Duration(w.rng.IntN(50)) * time.Second)
	}
}

// mishap makes a worker forget its attempts, or stop sending heartbeats for a while.
func (w *world) mishap(by *worker) error {
	switch w.rng.IntN(3) {
	case 0:
		w.note("%s loses its memory", by.id)
		by.held = nil
		if w.chance(2) {
			by.accounts = w.accounts() // the user has changed the settings
		}
	case 1:
		by.silent = w.rng.IntN(6)
		w.now = w.now.Add(time.Duration(w.rng.IntN(120)) * time.Second)
	default:
		return w.askAndAnswer(by)
	}
	return nil
}

func (w *world) askAndAnswer(by *worker) error {
	if len(by.held) == 0 {
		return nil
	}
	h := by.held[w.rng.IntN(len(by.held))]
	id, err := w.engine().Ask(context.Background(), engine.Ask{
		Attempt: h.Attempt.ID, Token: h.Attempt.Token, Text: "may I?", Within: time.Duration(w.rng.IntN(3)) * time.Minute, Default: "no",
	})
	if err != nil {
		return expected(err)
	}
	if w.chance(2) {
		err = w.engine().Answer(context.Background(), engine.Answer{Question: id, Text: "yes", Who: "sam"})
	}
	return expected(err)
}

// meddle simulates a user who cancels and retries tasks and runs.
func (w *world) meddle() error {
	if len(w.runs) == 0 {
		return nil
	}
	run := w.runs[w.rng.IntN(len(w.runs))]
	task := fmt.Sprint("t", w.rng.IntN(3))
	switch w.rng.IntN(8) {
	case 5, 6, 7:
		return w.conduct(run)
	case 0:
		return w.cancel(engine.Target{Run: run})
	case 1:
		return w.cancel(engine.Target{Run: run, Task: task})
	case 2:
		return w.cancel(engine.Target{Run: run, Task: task, DependentsOnly: true})
	}
	err := w.engine().Retry(context.Background(), store.TaskKey{Run: run, Task: task}, "sam", "again")
	w.note("retry %s %s: %v", run, task, err)
	return w.orMissing(err)
}

// conduct simulates a conductor that extends, ends or reopens a run. The engine refuses the request
// if the run has no conductor or is in the wrong state.
func (w *world) conduct(run string) error {
	var err error
	switch w.rng.IntN(4) {
	case 0:
		err = w.engine().Conclude(context.Background(), run, store.Complete, "")
	case 1:
		err = w.engine().Reopen(context.Background(), engine.Reopening{Run: run, Who: "sam", Why: "go on"})
	default:
		added := plan.Task{ID: w.newID(), Agent: "claude", Limits: plan.Limits{Retries: w.rng.IntN(3)}}
		x := engine.Extension{Run: run, Key: added.ID, Tasks: []plan.Task{added}}
		for range 1 + w.rng.IntN(2) { // the conductor may repeat the request, as if it had not received the answer
			err = w.engine().Extend(context.Background(), x)
		}
	}
	w.note("conduct %s: %v", run, err)
	return expected(err)
}

func (w *world) cancel(t engine.Target) error {
	err := w.engine().Cancel(context.Background(), t, "sam", "enough")
	w.note("cancel %+v: %v", t, err)
	if err != nil || t.DependentsOnly {
		return w.orMissing(err)
	}
	return w.store.Read(context.Background(), func(r store.Reader) error {
		tasks, err := r.Tasks(t.Run)
		for _, task := range tasks {
			if t.Task != "" && t.Task != task.Task || task.Status.Final() {
				continue
			}
			if task.Status == store.Queued {
				return fmt.Errorf("%s is queued although it was cancelled", task.Task)
			}
			a, err := r.Attempt(task.RunningAttempt)
			if err != nil {
				return err
			}
			if a.StopReason == "" {
				return fmt.Errorf("nobody was asked to end %s", task.Task)
			}
		}
		return err
	})
}

func (w *world) orMissing(err error) error {
	var none *engine.NotFoundError
	if errors.As(err, &none) {
		return nil
	}
	return expected(err)
}

// finishAll lets the fleet work without faults until all runs have ended.
func (w *world) finishAll() error {
	w.steady = true
	for range 2000 {
		open, err := w.open()
		if err != nil || len(open) == 0 {
			return err
		}
		for _, run := range open {
			if err := w.engine().Conclude(context.Background(), run.ID, store.Complete, ""); expected(err) != nil {
				return err
			}
		}
		w.now = w.now.Add(20 * time.Second)
		if err := w.sweep(); err != nil {
			return err
		}
		for _, by := range w.workers {
			by.silent = 0
			if err := w.beat(by); err != nil {
				return err
			}
			for len(by.held) > 0 {
				if err := w.end(by, 0, failure.None); err != nil {
					return err
				}
			}
			if err := w.claim(by); err != nil {
				return err
			}
		}
		if err := w.check(); err != nil {
			return err
		}
	}
	return errors.New("not every run has ended")
}

func (w *world) open() (runs []store.Run, err error) {
	err = w.store.Read(context.Background(), func(r store.Reader) error {
		runs, err = r.RunningRuns()
		return err
	})
	return runs, err
}
