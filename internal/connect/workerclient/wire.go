package workerclient

import (
	"strings"
	"time"
	"unicode"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/text/truncate"
	"gaffer/statefile"
)

// checkWork returns an error if an id in w cannot be used as a file name on this machine.
func checkWork(w coordinator.Work) error {
	for what, name := range map[string]string{"attempt": w.Attempt.ID, "run": w.Run.ID, "task": w.Task.Task} {
		if err := statefile.CheckName(what, name); err != nil {
			return err
		}
	}
	return nil
}

// lease converts the length of a lease from milliseconds to a duration. The result is at least one
// millisecond, because 0 would mean a lease that never ends.
func lease(ms int64) time.Duration { return max(millis(ms), time.Millisecond) }

// maxDuration is the longest duration that a worker accepts from a coordinator. Longer durations
// are shortened to it.
const maxDuration = 10 * 365 * 24 * time.Hour

func millis(ms int64) time.Duration {
	return time.Duration(min(max(ms, 0), maxDuration.Milliseconds())) * time.Millisecond
}

// timeAfter returns the time ms milliseconds after now. It returns the zero time if ms is not
// positive.
func timeAfter(now time.Time, ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return now.Add(millis(ms))
}

func assignment(w coordinator.Work, worker string, now time.Time) engine.Assignment {
	a := engine.Assignment{
		Attempt: store.Attempt{
			ID: w.Attempt.ID, Run: w.Run.ID, Task: w.Task.Task, Number: w.Attempt.Number, Token: w.Attempt.Token, Worker: worker,
			Status: store.Running, Started: now, Deadline: timeAfter(now, w.Attempt.DeadlineInMS), StopReason: w.Attempt.Stop, SpentEarlier: w.Attempt.Carried, Limit: w.Attempt.Limit,
			Account: w.Attempt.Account, Fallback: w.Attempt.Fallback,
		},
		Task: store.Task{
			TaskKey: store.TaskKey{Run: w.Run.ID, Task: w.Task.Task}, Name: w.Task.Name, Spec: w.Task.Spec, Status: store.Running,
			NewConversation: w.Task.Fresh, Tries: w.Task.Tries, RunningAttempt: w.Attempt.ID, SentBack: w.Task.SentBack,
		},
		Lease: lease(w.LeaseMS), Messages: w.Messages, Earlier: w.Earlier, Grants: w.Grants,
	}
	if b := w.Before; b != nil {
		a.Before = &store.Attempt{
			ID: b.ID, Run: w.Run.ID, Task: w.Task.Task, Number: b.Number, Worker: b.Worker, Account: b.Account, Fallback: b.Fallback,
		}
		a.Before.Diff = b.Diff
		a.Before.Class, a.Before.Summary, a.Before.Thread = b.Class, b.Summary, b.Thread
	}
	return a
}

func order(o coordinator.WorkOrder) engine.Order {
	e := engine.Order{Attempt: o.Attempt, Stop: o.Stop, Gone: o.Gone, Waits: o.Waits, Messages: o.Messages, Interrupt: o.Interrupt, Limit: o.Limit}
	if !o.Gone {
		e.Lease = lease(o.LeaseMS)
	}
	for _, a := range o.Answers {
		e.Answers = append(e.Answers, store.Question{ID: a.ID, Answer: a.Answer, Denied: a.Denied, Rule: a.Rule, Closed: true})
	}
	return e
}

func outcome(o coordinator.WorkOutcome, now time.Time) engine.FinishResult {
	return engine.FinishResult{Status: store.Status(o.Status), RetryAt: timeAfter(now, o.RetryInMS), NewConversation: o.Fresh}
}

// Maximum lengths, in bytes, of texts of agents that are sent to the coordinator. The coordinator
// refuses longer texts, so they are cut before they are sent.
const (
	maxWord  = 200
	maxDoing = 1000
	maxPath  = 4 << 10
)

func wireHeld(h engine.HeldAttempt, now time.Time) coordinator.HeldWork {
	n := h.Now
	w := coordinator.HeldWork{WorkKey: coordinator.WorkKey{Attempt: h.Attempt, Token: h.Token}, Asking: h.Asking, Dropped: h.Dropped, Delivered: h.Delivered}
	if n.State == "" {
		return w
	}
	w.Now = coordinator.WorkNow{Progress: wireProgress(n), AgeMS: max(now.Sub(n.Said).Milliseconds(), 0)}
	return w
}

// wireProgress returns the progress of an agent in the form that is sent to the coordinator. It
// shortens texts. It clears Said and LogFrom, which have a meaning only on this machine: a time of
// this machine's clock, and an offset in a local log file.
func wireProgress(p fleet.Progress) fleet.Progress {
	p.State, p.Doing, p.Source, p.Said = shortLine(p.State, maxWord), shortText(p.Doing, maxDoing), shortLine(p.Source, maxWord), time.Time{}
	p.Thread, p.Log, p.LogFrom = shortLine(p.Thread, maxWord), shortText(p.Log, maxPath), 0
	p.Compacted = shortText(p.Compacted, maxDoing)
	return p
}

func wireFinish(f engine.Finish, now time.Time) coordinator.WorkFinish {
	w := coordinator.WorkFinish{WorkKey: coordinator.WorkKey{Attempt: f.Attempt, Token: f.Token}, Progress: wireProgress(f.Progress), Ending: f.Ending, Delivered: f.Delivered}
	w.Activity = fleet.Activity{}
	w.Class = fleet.Class(shortLine(string(f.Class), maxWord))
	w.Summary, w.Answer = shortText(f.Summary, coordinator.MaxWorkText), shortText(f.Answer, coordinator.MaxWorkAnswer)
	if len(f.Checks) > coordinator.MaxWorkChecks {
		w.Checks = nil
	}
	if len(f.Diff) > coordinator.MaxWorkDiff {
		w.Diff = nil
	}
	w.Denied = nil
	for _, what := range f.Denied[:min(len(f.Denied), coordinator.MaxWorkDenied)] {
		w.Denied = append(w.Denied, shortText(what, maxDoing))
	}
	if !f.Reset.IsZero() {
		w.ResetInMS = max(f.Reset.Sub(now).Milliseconds()+1, 1)
	}
	return w
}

func wireQuestion(a engine.Ask) coordinator.WorkQuestion {
	const maxOptions, maxOption = 50, 1000
	w := coordinator.WorkQuestion{
		WorkKey: coordinator.WorkKey{Attempt: a.Attempt, Token: a.Token}, Ref: shortText(a.Ref, maxPath), Text: shortText(a.Text, coordinator.MaxWorkText),
		WithinMS: a.Within.Milliseconds(), Default: shortText(a.Default, maxOption),
	}
	for _, o := range a.Options[:min(len(a.Options), maxOptions)] {
		w.Options = append(w.Options, shortText(o, maxOption))
	}
	if w.Tool = shortLine(a.Tool, maxWord); len(a.Input) <= coordinator.MaxWorkText && len(a.Tool) <= maxWord {
		w.Input = a.Input // send the whole input or none of it: permission rules must check all of it
	}
	if len(a.Dir) <= maxPath {
		w.Dir = a.Dir
	}
	for _, s := range a.Suggestions[:min(len(a.Suggestions), maxOptions)] {
		if len(s) <= coordinator.MaxWorkText {
			w.Suggestions = append(w.Suggestions, s)
		}
	}
	return w
}

// shortText shortens a text to maxBytes, and replaces bytes that databases do not accept: invalid
// UTF-8 and NUL.
func shortText(s string, maxBytes int) string {
	return truncate.Bytes(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD"), maxBytes)
}

// shortLine is like shortText, and also replaces control characters, such as newlines, by spaces.
func shortLine(s string, most int) string {
	return shortText(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s), most)
}
