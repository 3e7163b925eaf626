package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// Kinds of store events that may cause a notification. An event that ends a run may cause one, too;
// see [runEnded].
const (
	asked          = "question.asked"
	taskFailed     = "task.failed"
	workerChanged  = "worker.changed"
	scheduleFailed = "schedule.failed"
	budgetWarning  = "budget.warning" // most of a spending limit is used
	budgetSpent    = "budget.spent"   // the user's spending limit for a day or month is reached
)

// eventWithRows is an event together with the database rows that are needed to write its
// notification.
type eventWithRows struct {
	store.Event
	run      store.Run
	task     store.Task
	attempt  store.Attempt
	question store.Question
	worker   store.Worker
	fire     failedFire
	counts   map[store.Status]int
}

// failedFire is the JSON data of an event with the kind scheduleFailed: a schedule could not start
// a run.
type failedFire struct {
	Schedule string     `json:"schedule"`
	Project  string     `json:"project"`
	Fire     fleet.Fire `json:"fire"`
}

// mayNotify reports whether an event may cause a notification. Most events do not.
func mayNotify(e store.Event) bool {
	switch e.Kind {
	case asked, taskFailed, scheduleFailed:
		return true
	case budgetWarning, budgetSpent:
		return !aboutRunBudget(e)
	case workerChanged:
		return e.To == string(Waiting) && e.From != e.To
	}
	return runEnded(e)
}

// aboutRunBudget reports whether a budget event is about the budget of a single run. Such an event
// causes no notification, because the follower regularly checks the budgets of runs itself; see
// [budgetNote].
func aboutRunBudget(e store.Event) bool { return strings.Contains(e.Why, "the run's budget") }

// aboutUserLimit reports whether an event is about the user's spending limit for a day or a month,
// which applies to all runs together.
func aboutUserLimit(e store.Event) bool {
	return e.Run == "" && (e.Kind == budgetWarning || e.Kind == budgetSpent)
}

func runEnded(e store.Event) bool {
	return strings.HasPrefix(e.Kind, "run.") && store.Status(e.To).Final()
}

// noteOf returns the notification for an event, or false if the event needs none.
func noteOf(f eventWithRows) (Notification, bool) {
	switch {
	case f.Kind == asked:
		return waitingNote(f), !f.question.Closed
	case f.Kind == taskFailed:
		return failedNote(f), true
	case f.Kind == scheduleFailed:
		return notStartedNote(f), true
	case f.Kind == workerChanged:
		// A worker without slots is an agent that gaffer does not run. A worker with slots runs
		// agents for gaffer, and each of their questions causes its own notification.
		return agentWaitsNote(f), f.worker.Slots == 0
	case f.Kind == budgetWarning || f.Kind == budgetSpent:
		return limitNote(f), true
	case runEnded(f.Event):
		return finishedNote(f), true
	}
	return Notification{}, false
}

// limitNote returns the notification that most or all of a spending limit is used.
func limitNote(f eventWithRows) Notification {
	n := runNote(f, Budget, idOf(string(Budget), fmt.Sprint(f.Seq)))
	what, text, _ := strings.Cut(f.Why, ": ")
	n.Title, n.Text, n.Next = line(what, maxTitle), line(text, maxText), "gaffer cost"
	switch {
	case f.Task != "":
		n.Task, n.Title = f.Task, line(f.Task+": "+what, maxTitle)
	case f.Kind == budgetSpent:
		n.Text = "tasks wait until there is more"
	}
	return n
}

func waitingNote(f eventWithRows) Notification {
	n := runNote(f, Waiting, idOf(string(Waiting), f.question.ID))
	name := fleet.QuestionName(f.question.Run, f.question.Task)
	n.Title = line(name+" asks", maxTitle)
	n.Text = line(f.question.Text, maxText)
	n.Next = "gaffer answer " + name
	if !f.question.Standalone() {
		n.Text += "\nrun " + nameOf(f.run)
	}
	n.Task, n.Question = f.question.Task, f.question.ID
	_ = json.Unmarshal(f.question.Options, &n.Options) // options that are not a list of strings are ignored
	return n
}

// runNote returns a notification about a run. It sets the fields that all notifications about a run
// have in common.
func runNote(f eventWithRows, kind Kind, id string) Notification {
	return Notification{ID: id, Kind: kind, Time: f.At.UTC(), Run: f.run.ID, RunName: nameOf(f.run), Project: f.run.Project}
}

// agentWaitsNote returns the notification that an agent waits for the user. It is used only for
// agents that gaffer does not run. Such an agent reports that it waits, but not what it asks.
func agentWaitsNote(f eventWithRows) Notification {
	name := line(orElse(f.worker.Name, f.worker.ID), maxTitle/2)
	return Notification{
		ID: idOf(string(Waiting), f.worker.ID, fmt.Sprint(f.Seq)), Kind: Waiting, Time: f.At.UTC(), Worker: f.worker.ID,
		Title: name + " waits for the user", Text: "its agent has said so; what it asks is where it runs",
	}
}

func orElse(text, other string) string {
	if text != "" {
		return text
	}
	return other
}

func failedNote(f eventWithRows) Notification {
	n := runNote(f, Failed, idOf(string(Failed), f.Run, f.Task, fmt.Sprint(f.Seq)))
	n.Task, n.Class = f.Task, orElse(string(f.attempt.Class), f.task.Outcome)
	n.Title = line(f.Task+" failed", maxTitle)
	n.Text = line(strings.TrimPrefix(fmt.Sprintf("%s: %s", n.Class, f.Why), ": "), maxText) + "\nrun " + nameOf(f.run)
	n.Next = fmt.Sprintf("gaffer logs %s/%s", f.Run, f.Task)
	return n
}

// notStartedNote returns the notification that a schedule could not start a run.
func notStartedNote(f eventWithRows) Notification {
	name := line(f.fire.Schedule, maxTitle/2)
	return Notification{
		ID: idOf(string(Failed), "schedule", f.fire.Schedule, fmt.Sprint(f.Seq)), Kind: Failed, Time: f.At.UTC(), Project: f.fire.Project,
		Title: "schedule " + name + " could not start a run", Text: line(f.fire.Fire.Why, maxText), Next: "gaffer schedule show " + name,
	}
}

func finishedNote(f eventWithRows) Notification {
	n := runNote(f, Finished, idOf(string(Finished), f.Run, fmt.Sprint(f.Seq)))
	n.Run, n.Status = f.Run, f.To
	n.Title = line(fmt.Sprintf("run %s %s", nameOf(f.run), endedText(store.Status(f.To))), maxTitle)
	var parts []string
	for _, s := range []store.Status{store.Complete, store.Failed, store.Cancelled} {
		if c := f.counts[s]; c > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c, s))
		}
	}
	if !f.run.Created.IsZero() {
		parts = append(parts, elapsed(f.At.Sub(f.run.Created)))
	}
	if f.run.Spent.MicroUSD > 0 {
		parts = append(parts, dollars(f.run.Spent.MicroUSD))
	}
	n.Text = strings.Join(parts, ", ")
	n.Next = "gaffer status " + f.Run
	return n
}

func endedText(as store.Status) string {
	switch as {
	case store.Failed:
		return "has failed"
	case store.Cancelled:
		return "was cancelled"
	}
	return "is " + string(as)
}

// warnPercent is the percentage of a budget that must be used before the user is notified.
const warnPercent = 80

// budgetNote returns a notification if a run has used at least warnPercent of its budget, or if
// refused is true. The parameter spent is what the run has cost so far. The parameter refused says
// that a task of the run has failed because the run's budget was used up or too small.
func budgetNote(run store.Run, spent store.Amount, refused bool, now time.Time) (Notification, bool) {
	part := max(percentOf(spent.MicroUSD, run.Budget.MicroUSD), percentOf(spent.Tokens, run.Budget.Tokens))
	n := Notification{Kind: Budget, Time: now.UTC(), Run: run.ID, RunName: nameOf(run), Project: run.Project, Text: spentOf(spent, run.Budget)}
	n.Next = "gaffer status " + run.ID
	switch {
	case part >= 100 || refused:
		n.ID = idOf(string(Budget), run.ID, "100")
		n.Title = line(fmt.Sprintf("run %s has used its budget", n.RunName), maxTitle)
		if part < 100 {
			n.Text += "\nwhat is left does not allow another task"
		}
	case part >= warnPercent:
		n.ID = idOf(string(Budget), run.ID, "80")
		n.Title = line(fmt.Sprintf("run %s has spent %d %% of its budget", n.RunName, part), maxTitle)
	default:
		return Notification{}, false
	}
	return n, true
}

// percentOf returns part as a percentage of whole. If whole is 0, there is no limit, and percentOf
// returns 0.
func percentOf(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return int64(float64(part) / float64(whole) * 100)
}

// refusedForRunBudget reports whether a task failed because its run's budget was used up or too
// small. A task with a budget of its own normally fails because of that budget. But if it could not
// start although that budget was not used up, the result is true.
func refusedForRunBudget(f eventWithRows) bool {
	if f.Kind != taskFailed || orElse(string(f.attempt.Class), f.task.Outcome) != string(failure.OverBudget) || !f.run.Budget.Limits() {
		return false
	}
	own := f.task.Reserve
	return !own.Limits() || f.attempt.Class != failure.OverBudget && !f.task.Spent.Reaches(own)
}

// workerLoad is what [offlineNote] must know about a worker.
type workerLoad struct {
	store.Worker
	holds int  // number of attempts that the worker is running
	local bool // the worker was started for one local run and ends with it
}

// offlineRule says when a worker counts as offline.
type offlineRule struct {
	// A worker that was already offline at the time began causes no notification.
	began time.Time
	// This program may have missed heartbeats before the time since, because it was not running. So
	// if a worker's last heartbeat is older than since, the program measures the time without a
	// heartbeat from since.
	since time.Time
	after time.Duration // a worker without a heartbeat for this long is offline
}

// offlineNote returns the notification that a worker is offline. It returns false if the worker is
// not offline. It also returns false if the user need not know: the worker was offline before
// h.began, its last heartbeat is older than maxEventAge, or it belongs to a local run and runs no
// attempt.
func offlineNote(w workerLoad, h offlineRule, now time.Time) (Notification, bool) {
	silent := now.Sub(laterOf(w.Seen, h.since)) >= h.after
	concern := w.Seen.After(h.began.Add(-h.after)) && now.Sub(w.Seen) < maxEventAge
	if !silent || !concern || w.Created.IsZero() || w.local && w.holds == 0 {
		return Notification{}, false
	}
	name := line(orElse(w.Name, w.ID), maxTitle/2)
	n := Notification{
		ID: idOf(string(Offline), w.ID, fmt.Sprint(w.Seen.UnixMilli())), Kind: Offline, Time: now.UTC(), Worker: w.ID, Seen: w.Seen,
		Title: "worker " + name + " is offline", Next: "gaffer workers",
	}
	n.Text = "not heard of for " + elapsed(now.Sub(w.Seen))
	if w.holds > 0 {
		n.Text += "; it holds " + count(w.holds, "task")
	}
	return n, true
}

func laterOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// maxEventAge is the maximum age of an event that causes a notification. A notification that could
// not be sent within this time is never sent.
const maxEventAge = 24 * time.Hour
