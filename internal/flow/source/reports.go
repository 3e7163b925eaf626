package source

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/statefile/host"
)

// Reports tells sources how the tasks of their items have ended.
type Reports struct {
	Engine *engine.Engine
	Host   host.Host
	Now    func() time.Time
	// Open returns the source that must get a report.
	Open func(r engine.ItemReport) (Source, error)
	// PullRequest returns the address of a task's pull request, or "" if there is none.
	PullRequest func(ctx context.Context, key store.TaskKey) (string, error)
	Notice      func(text string)
}

// senderTime is how long a process may take to send a report. Afterwards another process may send it,
// even if it is unknown whether the first one is alive.
const senderTime = 10 * time.Minute

// Send sends those reports of a run for which wanted returns true and that are not sent yet. After
// a failed try there is a pause before the next one. If now is true, Send does not wait for the end
// of that pause. It returns how many reports it has sent, and how many could not be sent.
func (s *Reports) Send(ctx context.Context, run string, now bool, wanted func(engine.ItemReport) bool) (sent, failed int, err error) {
	list, err := s.Engine.ItemReports(ctx, run)
	if err != nil {
		return 0, 0, err
	}
	self, err := json.Marshal(s.Host.Self())
	if err != nil {
		return 0, 0, err
	}
	for _, r := range list {
		if !wanted(r) {
			continue
		}
		r, ok, err := s.Engine.ClaimItemReport(ctx, r.TaskKey, self, now, s.gone)
		if err != nil {
			return sent, failed, err
		}
		if !ok {
			continue
		}
		problem := s.send(ctx, r)
		if ctx.Err() != nil {
			return sent, failed, ctx.Err() // the report stays claimed; the next process checks whether it was sent
		}
		text := ""
		if problem != nil {
			text = strings.ReplaceAll(problem.Error(), "\n", "; ")
			failed++
			s.Notice(fmt.Sprintf("%s: the end of the task is not reported to %s: %s; 'gaffer sources --send' tries again", r.Task, r.Item.Source, text))
		} else {
			sent++
		}
		if err := s.Engine.FinishItemReport(ctx, r, text); err != nil {
			return sent, failed, err
		}
	}
	return sent, failed, nil
}

// gone reports whether the process sender, which has claimed a report at the time since, will not
// send it any more.
func (s *Reports) gone(sender json.RawMessage, since time.Time) bool {
	var p host.Process
	if json.Unmarshal(sender, &p) == nil {
		switch {
		case p == s.Host.Self(), s.Host.Alive(p) == host.Dead:
			return true
		case s.Host.Alive(p) == host.Alive:
			return false
		}
	}
	return s.Now().Sub(since) > senderTime
}

// send tells the source of a report how the task has ended.
func (s *Reports) send(ctx context.Context, r engine.ItemReport) error {
	source, err := s.Open(r)
	if err != nil {
		return err
	}
	result := Result{Run: r.Run, Task: r.Task, Number: r.Number, Complete: r.Status == store.Complete, Outcome: r.Outcome, MaybeSent: r.Tries > 1}
	if r.Item.Report.PR {
		address, err := s.PullRequest(ctx, r.TaskKey)
		if err != nil {
			return err
		}
		result.PullRequest = cleanURL(address)
	}
	return source.Report(ctx, r.Item, result)
}
