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

// Reports sends reports about ended tasks. A report goes to the source, such as an issue tracker,
// that has the item from which the task was made. The engine has stored the reports.
type Reports struct {
	Engine *engine.Engine
	Host   host.Host
	Now    func() time.Time
	// Open returns the source to which the report r must be sent.
	Open func(r engine.ItemReport) (Source, error)
	// PullRequest returns the address of a task's pull request, or "" if there is none.
	PullRequest func(ctx context.Context, key store.TaskKey) (string, error)
	Notice      func(text string)
}

// senderTime is how long a process may take to send a report if it is unknown whether the process
// is alive. After that, another process may send the report.
const senderTime = 10 * time.Minute

// Send sends those reports of a run that were not sent yet and for which the function wanted
// returns true. If run is empty, it sends the reports of all runs. Send skips a report that another
// process is sending. If now is false, it also skips a report whose last try has failed recently.
// Send returns how many reports it has sent, and how many could not be sent.
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
			// Leave the report claimed by this process, because it may have been sent. The next
			// process that claims it checks whether it was sent.
			return sent, failed, ctx.Err()
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

// gone reports whether this process may send a report that the process sender has claimed at the
// time since. It returns true if sender is dead or is this process itself. If it is unknown whether
// sender is alive, gone returns true after senderTime.
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

// send sends the report r to its source. It adds the address of the task's pull request if the
// item's settings, r.Item.Report, ask for it.
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
