package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine/failure"
)

// Attempt is one start of an agent on a task. The agent is running or has already ended.
// [Attempt.Run] waits for the end and returns the [Result].
type Attempt struct {
	job          Job
	folder       folder
	opts         Options
	process      *supervisor.Process
	lease        *lease
	reader       agent.Reader
	linger       time.Duration
	orders       chan order
	over         chan struct{} // closed when Run has returned; later orders are ignored
	steerRequest steerRequest

	tail         tail
	answered     sentIDs
	asked        map[string]agent.Question // questions that opts.Owner has got and that have no answer yet, by id
	pending      []agent.Signal            // questions and automatic replies that handlePending must pass on
	now          Activity
	recent       recentLines
	reported     Activity // the value of now that was last passed to opts.Owner
	lastProgress time.Time
	// waitsUnseen is the argument of the last call of [Attempt.Wait]. It says whether the agent
	// waits for the user in a way that the agent's output does not show.
	waitsUnseen bool
	// supervisorWait is what the supervisor was last told: whether the agent works or waits for the
	// user. [Start] sets it to working without telling the supervisor, because a supervisor that
	// starts an agent assumes that the agent works.
	supervisorWait waitState
	waited         time.Duration // total time spent waiting for the user; set after the agent has ended
	// finishedAt is when the agent reported that its work is done. It is zero before that report.
	// It becomes zero again if the agent continues because the user has sent another message.
	finishedAt    time.Time
	inputClosedAt time.Time // when this process closed the agent's stdin; zero before
	steering      steering
	limit         atomic.Pointer[fleet.Amount] // what the attempt may spend; zero means no limit
}

// waitState is what this process has told the supervisor about the agent: that it works, or that it
// waits for the user.
type waitState int

const (
	waitUnknown waitState = iota // after Adopt: this process has not sent a state yet
	working
	waitingForUser
)

// order is a request from [Attempt.Stop], [Attempt.Answer] or [Attempt.Wait] to the goroutine that
// executes [Attempt.Run].
type order struct {
	stopReason string
	now        bool  // kill the agent at once; used only together with stopReason
	wait       *bool // argument of Attempt.Wait; nil in other orders
	question   string
	answer     agent.Answer
}

// Shortest and longest pause between two reads of the agent's log. After new output, Run pauses for
// minReadInterval. While there is no new output, the pause doubles up to maxReadInterval.
const (
	minReadInterval = 10 * time.Millisecond
	maxReadInterval = time.Second
)

// Run follows the attempt until it is over, and returns the result. When ctx ends, Run returns an
// error. Then the agent keeps running, and another process can take over with [Adopt].
func (a *Attempt) Run(ctx context.Context) (Result, error) {
	defer func() { _ = a.process.Close() }()
	defer close(a.over)
	wait := minReadInterval
	for {
		select {
		case <-a.process.Done():
			return a.judge(ctx)
		default:
		}
		news, _ := a.read(-1, false) // ignore the error: a later call tries again
		if wait = min(2*wait, maxReadInterval); news {
			wait = minReadInterval
		}
		a.handlePending()
		timer := time.NewTimer(alignWakeUp(time.Now(), wait))
		select {
		case <-a.process.Done():
			timer.Stop()
			return a.judge(ctx)
		case <-ctx.Done():
			timer.Stop()
			return Result{}, ctx.Err()
		case o := <-a.orders:
			a.follow(o)
			wait = minReadInterval
		case <-a.steerRequest.changed:
			wait = minReadInterval
		case <-timer.C:
		}
		timer.Stop()
	}
}

// alignWakeUp returns how long to wait before the next read of the log. If the wait is
// maxReadInterval, alignWakeUp shortens it so that it ends at a full second of the clock. So the
// logs of all idle attempts are read at the same moment. That needs less CPU time than waking up
// for each attempt separately.
func alignWakeUp(now time.Time, wait time.Duration) time.Duration {
	if wait < maxReadInterval {
		return wait
	}
	return now.Truncate(maxReadInterval).Add(maxReadInterval).Sub(now)
}

// Stop asks the supervisor to stop the agent and all its descendants. If now is true, they are
// killed at once. Stop returns when Run has received the request, and does not wait until the
// processes have ended. The parameter why is the reason, which must not be empty.
func (a *Attempt) Stop(why string, now bool) { a.order(order{stopReason: why, now: now}) }

// Answer answers a question of the agent. The parameter question is the id of a question that was
// passed to [Owner.Asked]. If the question was already answered or the agent has withdrawn it,
// Answer does nothing.
func (a *Attempt) Answer(question string, answer agent.Answer) {
	a.order(order{question: question, answer: answer})
}

// Wait tells the attempt whether the agent waits for the user in a way that the agent's output does
// not show, for example because it has asked through gaffer's MCP tool.
func (a *Attempt) Wait(waits bool) { a.order(order{wait: &waits}) }

func (a *Attempt) order(o order) {
	select {
	case a.orders <- o:
	case <-a.over:
	}
}

func (a *Attempt) follow(o order) {
	if o.stopReason != "" {
		_ = a.process.Stop(o.stopReason, o.now) // fails only if the supervisor does not answer in time
		return
	}
	if o.wait != nil {
		a.waitsUnseen = *o.wait
		return
	}
	q, known := a.asked[o.question]
	if !known {
		return
	}
	delete(a.asked, o.question)
	a.reply(o.question, q.Reply(o.answer))
}

// read reads and interprets new output of the agent. It reads up to the offset limit in the log, or
// up to the end of the log if limit is negative. The caller sets last if the agent will write no
// more output. The result news says whether there was new output.
func (a *Attempt) read(limit int64, last bool) (news bool, err error) {
	err = a.tail.read(limit, last, func(line []byte) {
		news = true
		for _, s := range a.reader.Line(line) {
			a.handle(s)
		}
	})
	return news, err
}

func (a *Attempt) handle(s agent.Signal) {
	if s.State != "" {
		a.now.State = string(s.State)
	}
	if s.Usage != nil {
		a.now.Spent = spentOn(*s.Usage)
	}
	if s.Context != (agent.Context{}) {
		a.now.Context = fleet.Context{Tokens: max(s.Context.Tokens, 0), Window: max(s.Context.Window, 0)}
	}
	a.now.Doing, a.now.Thread = cmp.Or(s.Doing, a.now.Doing), cmp.Or(s.Thread, a.now.Thread)
	a.recent.add(s.Doing)
	if s.Compacted != "" {
		a.now.Compacted = s.Compacted
		a.now.Compactions++
	}
	if s.Progress {
		a.lastProgress = a.opts.Now()
		a.notePromptDelivered()
	}
	if s.Delivered != "" {
		a.steering.echoed[s.Delivered] = true
		if id, ok := a.steering.keys[s.Delivered]; ok {
			a.noteDelivered(id)
		}
	}
	if s.Refused != "" {
		delete(a.steering.due, a.steering.keys[s.Refused])
	}
	if s.Resumed {
		a.finishedAt = time.Time{}
	}
	if s.Closed != "" {
		a.dropQuestion(s.Closed)
	}
	if s.Ask != nil || s.Reply != nil {
		a.pending = append(a.pending, s)
	}
	if s.Ended && a.finishedAt.IsZero() {
		a.finishedAt = a.opts.Now()
	}
}

// spentOn converts the usage that an agent has reported into an Amount. It bounds the values, so
// that sums of them cannot overflow.
func spentOn(u agent.Usage) fleet.Amount {
	const maxAmount = 1e15
	bound := func(n int64) int64 { return min(max(n, 0), maxAmount) }
	input, output := bound(u.Input), bound(u.Output)
	return fleet.Amount{
		MicroUSD: int64(min(max(math.Round(u.USD*1e6), 0), maxAmount)), Tokens: input + output,
		Input: input, Output: output, Cached: min(bound(u.Cached), input),
	}
}

// dropQuestion forgets a question of the agent, or an automatic reply that was not sent yet,
// because the agent no longer waits for it. If it is a question, dropQuestion tells the owner. It
// does so even if this process has not passed the question to the owner yet, because an earlier
// gaffer process may have done that.
func (a *Attempt) dropQuestion(id string) {
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

// handlePending passes the agent's questions to the owner, sends automatic replies and the user's
// messages to the agent, and reports changes to the owner. It stops an agent that makes no
// progress, or that does not exit after its work. It repeats an order to stop that the supervisor
// has not received.
//
// Before it passes a question to the owner, it tells the supervisor that the agent waits. So the
// agent's time limit is extended by the waiting time, even if this process dies in between.
func (a *Attempt) handlePending() {
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
	a.reportWaiting()
	for _, q := range asks {
		a.opts.Owner.Asked(q, a.job.Work)
	}
	a.updateUnproven()
	a.reportActivity()
	now := a.opts.Now()
	// An agent cannot make progress while it waits for the user, or while it is frozen because its
	// lease is over. Do not count that time as a stall.
	if a.lease.over(now) || a.isWaiting() {
		a.lastProgress = now
	}
	a.steer(now)
	a.closeInput(now)
	switch {
	case !a.finishedAt.IsZero():
		if a.linger > 0 && !a.inputClosedAt.IsZero() && now.Sub(a.inputClosedAt) > a.linger {
			_ = a.process.Stop(agent.Lingered, false) // ignore the error: the next call of handlePending tries again
		}
	case a.job.Stall > 0 && now.Sub(a.lastProgress) > a.job.Stall:
		_ = a.process.Stop(string(failure.Stalled), false)
	}
}

func (a *Attempt) reportActivity() {
	if a.now != a.reported {
		a.reported = a.now
		a.opts.Owner.Doing(a.now)
	}
}

// updateUnproven updates the field Unproven of the attempt's activity. The field is set while the
// supervisor is dead and gaffer cannot prove that the agent has ended. The activity's state is then
// waiting, because the user may have to act.
func (a *Attempt) updateUnproven() {
	why := UnprovenText(a.process.Unproven())
	if why == a.now.Unproven {
		return
	}
	a.now.Unproven, a.now.Doing, a.now.State = why, why, string(agent.Running)
	if why != "" {
		a.now.State = string(agent.Waiting)
	}
}

// UnprovenText returns a line for the user about an attempt that may still have live processes.
// Because of them, gaffer does not start the task again. The line says since when that is so, why
// gaffer cannot prove that the processes have ended, and what the user can do. UnprovenText returns
// "" if err is not a [*supervisor.UnprovenError].
func UnprovenText(err error) string {
	unproven := (*supervisor.UnprovenError)(nil)
	if !errors.As(err, &unproven) {
		return ""
	}
	return fmt.Sprintf("not started again since %s: %v; %s", unproven.Since.Local().Format("15:04:05"), unproven, unproven.Hint())
}

// isWaiting reports whether the agent waits for the user: for an answer to a question, or in a way
// that its output does not show.
func (a *Attempt) isWaiting() bool { return len(a.asked) > 0 || a.waitsUnseen }

// reportWaiting tells the supervisor whether the agent waits for the user. The supervisor extends
// the agent's time limit by the waiting time. If the supervisor cannot be reached, the next call of
// reportWaiting tries again.
func (a *Attempt) reportWaiting() {
	now := working
	if a.isWaiting() {
		now = waitingForUser
	}
	if now == a.supervisorWait {
		return
	}
	err := a.process.Waiting(now == waitingForUser)
	var refused *supervisor.OrderError // the supervisor is from an older version of gaffer, which does not know this order
	if err == nil || errors.As(err, &refused) {
		a.supervisorWait = now
	}
}

// reply writes data to the agent's stdin, and records that the question or request with this id is
// answered. If the write fails, reply records nothing: usually the agent has ended, and
// [Attempt.judge] determines the result of the attempt later.
func (a *Attempt) reply(id string, data []byte) {
	if err := a.process.Input(data); err != nil {
		return
	}
	_ = a.answered.add(id) // if this fails, the next gaffer process may send the answer again
	a.lastProgress = a.opts.Now()
}

// judge returns the result of an attempt whose agent has ended. If the agent has completed its
// work, judge first runs the commands that check the work.
func (a *Attempt) judge(ctx context.Context) (Result, error) {
	exit, err := a.process.Wait(ctx)
	if err != nil {
		return Result{}, err
	}
	limit := exit.LogTo
	// If it is unknown where this attempt's output ends, read up to the end of the log.
	if exit.Lost || limit < a.job.LogFrom {
		limit = -1
	}
	if _, err := a.read(limit, true); err != nil {
		return Result{}, err
	}
	a.waited = exit.Waited
	for _, s := range slices.Clone(a.pending) {
		if s.Ask != nil && !a.answered.ids[s.Ask.ID] {
			a.dropQuestion(s.Ask.ID)
		}
	}
	for id := range a.asked {
		a.dropQuestion(id) // the agent has ended, so it waits for no answer
	}
	a.pending = nil
	r := Result{Progress: a.now.Progress, Ending: fleet.Ending{Exit: exit.Code}, Left: exit.Left, Delivered: a.steering.delivered}
	switch {
	case exit.Lost:
		r.Class, r.Summary, r.Exit = failure.Lost, a.recent.withRecent(cmp.Or(exit.Failed, "the agent was lost")), -1
		return r, nil
	case exit.Failed != "":
		r.Class, r.Summary, r.Exit = failure.NotStarted, exit.Failed, -1
		return r, nil
	}
	v := a.reader.Verdict(agent.Exit{Code: exit.Code, Signal: exit.Signal, StopReason: exit.StopReason, At: exit.Ended.Local()})
	r.Class, r.Summary, r.Answer, r.Reset, r.Denied = v.Class, v.Summary, v.Answer, v.Reset, v.Denied
	if a.overBudget(&r) {
		return r, nil
	}
	// The agent may report that its work is done although a permission was denied. If the task has
	// commands that check the work, they decide: if they pass, the agent did not need the
	// permission.
	provable := v.Class == failure.Denied && v.Done && len(a.job.Verify) > 0
	if r.Class != failure.None && !provable {
		r.Answer, r.Summary = "", a.recent.withRecent(r.Summary)
		return r, nil
	}
	a.notePromptDelivered()
	r.Class, r.Delivered = failure.None, a.steering.delivered
	checked, err := a.verify(ctx, r)
	switch {
	case err != nil:
		return Result{}, err
	case checked.Class == failure.None && provable:
		checked.Summary = v.Proven().Summary
	case checked.Class == failure.VerifyFailed && provable:
		checked.Class, checked.Summary = failure.Denied, v.DeniedText()+"; and then "+checked.Summary
	case checked.Class == failure.VerifyFailed && len(v.Denied) > 0:
		checked.Summary = strings.TrimSpace(checked.Summary) + "\n(" + v.DeniedText() + ")"
	}
	if checked.Class != failure.None {
		checked.Answer = ""
	}
	return checked, nil
}
