package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"gaffer/internal/agent"
	"gaffer/internal/failure"
	"gaffer/internal/supervisor"
)

// Attempt is an attempt that runs, or has run and was not judged yet.
type Attempt struct {
	job     Job
	folder  folder
	opts    Options
	process *supervisor.Process
	lease   *lease
	reader  agent.Reader
	linger  time.Duration
	orders  chan order
	over    chan struct{} // closed when nobody follows orders any more

	tail     tail
	answered answered
	asked    map[string]agent.Question // those that the owner knows
	pending  []agent.Signal            // questions and replies that are to be dealt with
	now      Activity
	words    words
	told     Activity // what the owner knows
	progress time.Time
	ended    time.Time // when the last word was spoken
}

// order is what the owner wants done.
type order struct {
	stop     string
	at       bool // at once
	question string
	answer   agent.Answer
}

// Start starts an attempt in its folder. If it returns an error nothing runs; a
// program that is not there, or a folder, is [*supervisor.FailedError].
func Start(ctx context.Context, dir string, with agent.Agent, job Job, opts Options) (*Attempt, error) {
	launch, err := with.Launch(job.Request)
	if err != nil {
		return nil, err
	}
	f := folder(dir)
	if job.LogFrom, err = size(job.Log); err != nil {
		return nil, err
	}
	said, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	if launch.File != nil {
		if err := f.writePrompt(&launch); err != nil {
			return nil, err
		}
	}
	n, err := f.launches()
	if err == nil && n > 0 { // it came to nothing, for all that is known
		opts.Supervisor.Attempt = job.Attempt
		err = end(ctx, f.agentFolder(n), opts)
	}
	if err != nil {
		return nil, err
	}
	p, err := opts.launch(ctx, f.agentFolder(n+1), supervisor.Spec{
		Attempt: job.Attempt, Argv: launch.Argv, Env: environ(launch.Env, job.Env), Dir: job.Work, Log: job.Log,
		Input: launch.Input, Open: launch.Open, Deadline: job.Deadline, Interrupt: job.Grace, Terminate: job.Grace,
		Until: opts.Until, Job: said,
	}, job.LogFrom)
	if err != nil {
		return nil, err
	}
	return newAttempt(f, with, job, launch.Linger, p, opts)
}

// Adopt takes over an attempt that somebody else has started. Of one that never
// ran, or was lost, nothing is left when it returns; the state says so.
func Adopt(ctx context.Context, dir string, with agent.Agent, job Job, opts Options) (*Attempt, supervisor.State, error) {
	launch, err := with.Launch(job.Request)
	if err != nil {
		return nil, supervisor.Unknown, err
	}
	f := folder(dir)
	n, err := f.launches()
	if err != nil {
		return nil, supervisor.Unknown, err
	}
	opts.Supervisor.Attempt = job.Attempt
	p, state, err := supervisor.Attach(ctx, f.agentFolder(max(n, 1)), opts.Supervisor)
	if err != nil {
		return nil, state, err
	}
	a, err := newAttempt(f, with, job, launch.Linger, p, opts)
	return a, state, err
}

// Never reports of an attempt that is lost whether there never was an agent.
func (a *Attempt) Never() bool {
	exit, err := a.process.Wait(context.Background()) // it is over
	return err == nil && exit.Never
}

func newAttempt(f folder, with agent.Agent, job Job, linger time.Duration, p *supervisor.Process, opts Options) (*Attempt, error) {
	done, err := readAnswered(f)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return &Attempt{
		job: job, folder: f, opts: opts, process: p, lease: &lease{runs: p, until: opts.Until}, reader: with.Reader(job.Request), linger: linger,
		orders: make(chan order), over: make(chan struct{}),
		tail: tail{path: job.Log, at: job.LogFrom}, answered: done, asked: map[string]agent.Question{},
		now:      Activity{State: agent.Running, Thread: thread(job.Request), PID: p.Started().Agent.PID},
		progress: opts.Now(),
	}, nil
}

// thread is the conversation that an agent goes on with. One that it begins it
// will name itself.
func thread(r agent.Request) string {
	if r.Begin {
		return ""
	}
	return r.Thread
}

// size returns how long a log is. One that is not there is empty.
func size(log string) (int64, error) {
	info, err := os.Stat(log)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f folder) writePrompt(l *agent.Launch) error {
	path := f.path(promptFile)
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, l.File, 0o600); err != nil {
		return err
	}
	for i, arg := range l.Argv {
		l.Argv[i] = strings.ReplaceAll(arg, agent.FileArg, path)
	}
	return nil
}

// SelfEnv is the variable that tells an agent and its checks where gaffer is.
const SelfEnv = "GAFFER_SELF"

// environ is this process's environment with more in it. What comes later wins.
func environ(more ...[]string) []string {
	env := os.Environ()
	if self, err := os.Executable(); err == nil {
		env = append(env, SelfEnv+"="+self)
	}
	for _, list := range more {
		env = append(env, list...)
	}
	return env
}

// How often the log is looked at: soon after something has come, and then less
// and less.
const (
	soon = 10 * time.Millisecond
	late = time.Second
)

// Run looks after the attempt until it is over, and says how it went. When ctx
// ends it lets go: the agent goes on, and another process can adopt it.
func (a *Attempt) Run(ctx context.Context) (Result, error) {
	defer func() { _ = a.process.Close() }()
	defer close(a.over)
	wait := soon
	for {
		if a.isOver() {
			return a.judge(ctx)
		}
		news, err := a.read(-1, false)
		if err != nil {
			return Result{}, err
		}
		if wait = min(2*wait, late); news {
			wait = soon
		}
		a.act()
		timer := time.NewTimer(together(time.Now(), wait))
		select {
		case <-a.process.Done():
			timer.Stop()
			return a.judge(ctx)
		case <-ctx.Done():
			timer.Stop()
			return Result{}, ctx.Err()
		case o := <-a.orders:
			a.follow(o)
			wait = soon
		case <-timer.C:
		}
		timer.Stop()
	}
}

// together has those who wait for long wake up at the same moments: to wake up
// takes longer than to look.
func together(now time.Time, wait time.Duration) time.Duration {
	if wait < late {
		return wait
	}
	return now.Truncate(late).Add(late).Sub(now)
}

func (a *Attempt) isOver() bool {
	select {
	case <-a.process.Done():
		return true
	default:
		return false
	}
}

// Stop ends the agent and what it has started. It does not wait for that.
func (a *Attempt) Stop(why string, now bool) { a.order(order{stop: why, at: now}) }

// Answer answers a question that the owner was asked.
func (a *Attempt) Answer(question string, answer agent.Answer) {
	a.order(order{question: question, answer: answer})
}

func (a *Attempt) order(o order) {
	select {
	case a.orders <- o:
	case <-a.over:
	}
}

func (a *Attempt) follow(o order) {
	if o.stop != "" {
		_ = a.process.Stop(o.stop, o.at) // if it has ended that is what was wanted
		return
	}
	q, known := a.asked[o.question]
	if !known {
		return
	}
	delete(a.asked, o.question)
	a.reply(o.question, q.Reply(o.answer))
}

// read takes in what the agent has said, and reports whether there was anything.
func (a *Attempt) read(limit int64, last bool) (news bool, err error) {
	err = a.tail.read(limit, last, func(line []byte) {
		news = true
		for _, s := range a.reader.Line(line) {
			a.take(s)
		}
	})
	return news, err
}

func (a *Attempt) take(s agent.Signal) {
	if s.State != "" {
		a.now.State = s.State
	}
	if s.Usage != nil {
		a.now.Usage = *s.Usage
	}
	a.now.Doing, a.now.Thread = cmp.Or(s.Doing, a.now.Doing), cmp.Or(s.Thread, a.now.Thread)
	a.words.add(s.Doing)
	if s.Compacted != "" {
		a.now.Compacted = s.Compacted
		a.now.Compactions++
	}
	if s.Progress {
		a.progress = a.opts.Now()
	}
	if s.Closed != "" {
		a.close(s.Closed)
	}
	if s.Ask != nil || s.Reply != nil {
		a.pending = append(a.pending, s)
	}
	if s.Ended && a.ended.IsZero() {
		a.ended = a.opts.Now()
		_ = a.process.CloseInput() // it may have ended
	}
}

// close drops a question or a reply that is not waited for any more.
func (a *Attempt) close(id string) {
	for i, s := range a.pending {
		if s.ReplyTo == id || s.Ask != nil && s.Ask.ID == id {
			a.pending = append(a.pending[:i:i], a.pending[i+1:]...)
			break
		}
	}
	if _, known := a.asked[id]; known {
		delete(a.asked, id)
		a.opts.Owner.Closed(id)
	}
}

// act does what follows from what was read, and from the time.
func (a *Attempt) act() {
	for _, s := range a.pending {
		switch {
		case s.Ask != nil && !a.answered.ids[s.Ask.ID]:
			a.asked[s.Ask.ID] = *s.Ask
			a.opts.Owner.Asked(*s.Ask)
		case s.Ask == nil && !a.answered.ids[s.ReplyTo]:
			a.reply(s.ReplyTo, s.Reply)
		}
	}
	a.pending = nil
	if a.now != a.told {
		a.told = a.now
		a.opts.Owner.Doing(a.now)
	}
	now := a.opts.Now()
	if a.lease.over(now) {
		a.progress = now // it is frozen, and cannot come on
	}
	switch {
	case !a.ended.IsZero():
		if a.linger > 0 && now.Sub(a.ended) > a.linger {
			_ = a.process.Stop(agent.Lingered, false) // again and again does no harm
		}
	case a.job.Stall > 0 && len(a.asked) == 0 && now.Sub(a.progress) > a.job.Stall:
		_ = a.process.Stop(string(failure.Stalled), false)
	}
}

// reply writes to the agent's stdin. If it has ended meanwhile, that is what
// will be judged.
func (a *Attempt) reply(id string, data []byte) {
	if err := a.process.Input(data); err != nil {
		return
	}
	_ = a.answered.note(id) // at worst it is answered again
	a.progress = a.opts.Now()
}

// judge says how the agent did, and checks its work.
func (a *Attempt) judge(ctx context.Context) (Result, error) {
	exit, err := a.process.Wait(ctx)
	if err != nil {
		return Result{}, err
	}
	limit := exit.LogTo
	if exit.Lost || limit < a.job.LogFrom {
		limit = -1 // nobody knows where it ends
	}
	if _, err := a.read(limit, true); err != nil {
		return Result{}, err
	}
	r := Result{
		Exit: exit.Code, Thread: a.now.Thread, Usage: a.now.Usage, Left: exit.Left,
		Compacted: a.now.Compacted, Compactions: a.now.Compactions,
	}
	switch {
	case exit.Lost:
		r.Class, r.Summary, r.Exit = failure.Lost, a.words.after(cmp.Or(exit.Failed, "the agent was lost")), -1
		return r, nil
	case exit.Failed != "":
		r.Class, r.Summary, r.Exit = failure.BadPlan, exit.Failed, -1
		return r, nil
	}
	v := a.reader.Verdict(agent.Exit{Code: exit.Code, Signal: exit.Signal, Told: exit.Told, At: exit.Ended.Local()})
	r.Class, r.Summary, r.Answer, r.Reset = v.Class, v.Summary, v.Answer, v.Reset
	if len(v.Denied) > 0 && r.Summary == "" {
		r.Summary = "denied: " + strings.Join(v.Denied, ", ")
	}
	if r.Class != failure.None {
		r.Summary = a.words.after(r.Summary)
		return r, nil
	}
	return a.verify(ctx, r)
}

// End ends whatever still runs of an attempt, and returns when it has ended.
func End(ctx context.Context, dir, attempt string, opts Options) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	folders := []string{dir}
	for _, e := range entries {
		if e.IsDir() {
			folders = append(folders, folder(dir).path(e.Name()))
		}
	}
	opts.Supervisor.Attempt = attempt
	for _, f := range folders {
		if err := end(ctx, f, opts); err != nil {
			return err
		}
	}
	return nil
}

func end(ctx context.Context, dir string, opts Options) error {
	p, _, err := supervisor.Attach(ctx, dir, opts.Supervisor)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	_ = p.Stop(string(failure.Cancelled), true) // if it has ended that is what was wanted
	_, err = p.Wait(ctx)
	return err
}
