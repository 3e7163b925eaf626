package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine/failure"
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
	outside  bool // the owner says that the agent waits for a person
	waits    waits
	waited   time.Duration // for a person, in all; known when the agent has ended
	ended    time.Time     // when the last word was spoken
}

// waits is whether the supervisor knows that the agent waits for a person.
type waits int

const (
	unknown waits = iota // another process may have said anything
	works
	waitsForPerson
)

// order is what the owner wants done.
type order struct {
	stop     string
	at       bool // at once
	wait     *bool
	question string
	answer   agent.Answer
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
		news, _ := a.read(-1, false) // what cannot be read now is read later, at the latest when it has ended
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

// Wait says whether the agent waits for a person in a way that its output does not
// show.
func (a *Attempt) Wait(waits bool) { a.order(order{wait: &waits}) }

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
	if o.wait != nil {
		a.outside = *o.wait
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

// close drops a question or a reply that is not waited for any more. A question that
// was not asked yet may have been by the gaffer before us.
func (a *Attempt) close(id string) {
	_, known := a.asked[id]
	for i, s := range a.pending {
		if s.ReplyTo == id || s.Ask != nil && s.Ask.ID == id {
			known = known || s.Ask != nil
			a.pending = append(a.pending[:i:i], a.pending[i+1:]...)
			break
		}
	}
	if known {
		delete(a.asked, id)
		a.opts.Owner.Closed(id)
	}
}

// act does what follows from what was read, and from the time. The supervisor knows
// that the agent waits before its question is asked, so that the deadline is put off
// whatever becomes of this process.
func (a *Attempt) act() {
	var asks []agent.Question
	for _, s := range a.pending {
		switch {
		case s.Ask != nil && !a.answered.ids[s.Ask.ID]:
			a.asked[s.Ask.ID] = *s.Ask
			asks = append(asks, *s.Ask)
		case s.Ask == nil && !a.answered.ids[s.ReplyTo]:
			a.reply(s.ReplyTo, s.Reply)
		}
	}
	a.pending = nil
	a.tellWaiting()
	for _, q := range asks {
		a.opts.Owner.Asked(q)
	}
	a.doubt()
	a.tellOwner()
	now := a.opts.Now()
	if a.lease.over(now) || a.isWaiting() {
		a.progress = now // it is frozen or waits for a person, and cannot come on
	}
	switch {
	case !a.ended.IsZero():
		if a.linger > 0 && now.Sub(a.ended) > a.linger {
			_ = a.process.Stop(agent.Lingered, false) // again and again does no harm
		}
	case a.job.Stall > 0 && now.Sub(a.progress) > a.job.Stall:
		_ = a.process.Stop(string(failure.Stalled), false)
	}
}

func (a *Attempt) tellOwner() {
	if a.now != a.told {
		a.told = a.now
		a.opts.Owner.Doing(a.now)
	}
}

// doubt takes in whether the supervisor is dead and the attempt cannot be proved to
// have ended. Then a person has to do something about it.
func (a *Attempt) doubt() {
	why := DoubtOf(a.process.Doubt())
	if why == a.now.Doubt {
		return
	}
	a.now.Doubt, a.now.Doing, a.now.State = why, why, agent.Running
	if why != "" {
		a.now.State = agent.Waiting
	}
}

// DoubtOf says in a line why an attempt waits that cannot be proved to have ended,
// since when, and what to do. It is empty for any other error.
func DoubtOf(err error) string {
	unproven := (*supervisor.UnprovenError)(nil)
	if !errors.As(err, &unproven) {
		return ""
	}
	return fmt.Sprintf("not started again since %s: %v; %s", unproven.Since.Local().Format("15:04:05"), unproven, unproven.Hint())
}

// isWaiting reports whether the agent waits for a person.
func (a *Attempt) isWaiting() bool { return len(a.asked) > 0 || a.outside }

// tellWaiting tells the supervisor whether the agent waits for a person, so that
// the deadline does not come nearer while it does. If the supervisor cannot be
// reached now, it is told later.
func (a *Attempt) tellWaiting() {
	now := works
	if a.isWaiting() {
		now = waitsForPerson
	}
	if now == a.waits {
		return
	}
	err := a.process.Waiting(now == waitsForPerson)
	var refused *supervisor.OrderError // it is older than this order
	if err == nil || errors.As(err, &refused) {
		a.waits = now
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
	a.waited = exit.Waited
	for _, s := range slices.Clone(a.pending) {
		if s.Ask != nil && !a.answered.ids[s.Ask.ID] {
			a.close(s.Ask.ID)
		}
	}
	for id := range a.asked {
		a.close(id) // an agent that has ended waits for no answer
	}
	a.pending = nil
	r := Result{
		Exit: exit.Code, Thread: a.now.Thread, Usage: a.now.Usage, Left: exit.Left, LogFrom: a.job.LogFrom,
		Compacted: a.now.Compacted, Compactions: a.now.Compactions,
	}
	switch {
	case exit.Lost:
		r.Class, r.Summary, r.Exit = failure.Lost, a.words.after(cmp.Or(exit.Failed, "the agent was lost")), -1
		return r, nil
	case exit.Failed != "":
		r.Class, r.Summary, r.Exit = failure.NotStarted, exit.Failed, -1
		return r, nil
	}
	v := a.reader.Verdict(agent.Exit{Code: exit.Code, Signal: exit.Signal, Told: exit.Told, At: exit.Ended.Local()})
	r.Class, r.Summary, r.Answer, r.Reset, r.Denied = v.Class, v.Summary, v.Answer, v.Reset, v.Denied
	// A task's checks say whether what was refused was needed.
	provable := v.Class == failure.Denied && v.Done && len(a.job.Verify) > 0
	if r.Class != failure.None && !provable {
		r.Answer, r.Summary = "", a.words.after(r.Summary)
		return r, nil
	}
	r.Class = failure.None
	checked, err := a.verify(ctx, r)
	switch {
	case err != nil:
		return Result{}, err
	case checked.Class == failure.None && provable:
		checked.Summary = v.Proven().Summary
	case checked.Class == failure.VerifyFailed && provable:
		checked.Class, checked.Summary = failure.Denied, v.Refusals()+"; and then "+checked.Summary
	case checked.Class == failure.VerifyFailed && len(v.Denied) > 0:
		checked.Summary = strings.TrimSpace(checked.Summary) + "\n(" + v.Refusals() + ")"
	}
	if checked.Class != failure.None {
		checked.Answer = ""
	}
	return checked, nil
}
