// Package phrase describes runs, tasks and attempts in words, so that all views, tables and
// summaries use the same words. The functions are pure. They make all text of agents printable and
// remove its line breaks.
package phrase

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/failure"
	"gaffer/internal/text/display"
	"gaffer/session"
)

// maxText is the maximum length of an agent's text on one line, in characters.
const maxText = 200

// Line makes the text of another program printable, puts it on one line and shortens it.
func Line(text string) string { return display.Line(text, maxText) }

// Label returns the text with which tables show a status: a symbol and a word, such as "✓ Done".
func Label(s fleet.Status) string { return display.Printable(session.State(s).Label()) }

// WaitingLabel is the [Label] of a task that waits for the user.
const WaitingLabel = "? waiting"

// Style returns the style in which the [Label] of a status is painted.
func Style(s fleet.Status) display.Style {
	switch s {
	case fleet.Running:
		return display.Yellow
	case fleet.Complete:
		return display.Green
	case fleet.Failed:
		return display.Red
	}
	return display.Faint
}

// Elapsed formats a duration, such as 42s, 2m 34s or 1h 05m.
func Elapsed(d time.Duration) string { return session.FormatElapsed(d) }

// Age formats a duration like [Elapsed], but without seconds if it is a minute or longer: 42s, 4m,
// 1h 05m.
func Age(d time.Duration) string {
	if d < time.Minute || d >= time.Hour {
		return Elapsed(d)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}

// RunDuration returns how long a run took or, if it has not ended, how long it has been running at
// the time now. It returns "" if the run has no start time.
func RunDuration(r fleet.Run, now time.Time) string {
	if r.Created.IsZero() {
		return ""
	}
	if !r.Ended.IsZero() {
		now = r.Ended
	}
	return Elapsed(max(now.Sub(r.Created), 0))
}

// Stopping returns a text which says why no task of a run starts any more. Call it only if
// r.Stopping is not empty.
func Stopping(r fleet.Run) string { return "no task starts any more: " + Line(r.Stopping) }

// WorkTime returns how long the agent of an attempt worked or, if it is still running, how long it
// has worked at the time now. The time in which it waited for the user does not count. It returns
// false if no agent was started.
func WorkTime(a *fleet.Attempt, now time.Time) (time.Duration, bool) {
	if a == nil || a.Started.IsZero() {
		return 0, false
	}
	worked, _ := a.Times(now)
	return worked, true
}

// Waited returns how long the agent of an attempt waited for the user, such as "waited 12m 05s". A
// wait that has not ended does not count. Waited returns "" if the agent waited for less than a
// second.
func Waited(a *fleet.Attempt) string {
	if a == nil || a.WaitedMS < 1000 {
		return ""
	}
	return "waited " + Elapsed(time.Duration(a.WaitedMS)*time.Millisecond)
}

// Clock formats the time of day of t, in the time zone of now. If t and now are not on the same
// day, it adds the date.
func Clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04")
	}
	return t.Format("Jan 2 15:04")
}

// Money formats an amount of US dollars, such as "$0.42". It returns "" for zero.
func Money(usd float64) string {
	if usd <= 0 {
		return ""
	}
	return fleet.Money(usd)
}

// SpentOf formats a cost together with the budget that limits it, such as "1.2k tokens, $0.42 of
// $2.00". Without a budget it returns the same text as [Spent].
func SpentOf(c, budget fleet.Cost) string {
	tokens, money := Tokens(c.Tokens), Money(c.USD)
	switch {
	case budget.Tokens > 0:
		tokens = fmt.Sprintf("%d of %d tokens", c.Tokens, budget.Tokens)
	case tokens != "":
		tokens += " tokens"
	}
	if budget.USD > 0 {
		money = fleet.MoneyOf(c.USD, budget.USD)
	}
	return Join(", ", tokens, money)
}

// nearBudget is the share of its budget that a run must have spent before [BudgetWarning] warns.
const nearBudget = 0.8

// BudgetWarning returns a warning if a run has spent most of its budget, such as "92 % of the
// budget is spent". It returns "" if the run has spent less than 80 % or has no budget.
func BudgetWarning(r fleet.Run) string {
	share := r.SpentNow().Share(r.Budget)
	if share < nearBudget {
		return ""
	}
	return fmt.Sprintf("%d %% of the budget is spent", int(share*100+1e-9))
}

// Tokens formats a number of tokens in a few characters, such as "1.2k". It returns "" for zero.
func Tokens(n int64) string {
	switch {
	case n <= 0:
		return ""
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// Spent formats a cost, such as "1.2k tokens, $0.01". It returns "" for zero.
func Spent(c fleet.Cost) string {
	tokens := Tokens(c.Tokens)
	if tokens != "" {
		tokens += " tokens"
	}
	return Join(", ", tokens, Money(c.USD))
}

// Counts formats the numbers of tasks by status, such as "2 complete, 1 running, 3 queued".
func Counts(c fleet.Counts) string {
	var parts []string
	for _, n := range []struct {
		n    int
		word fleet.Status
	}{
		{c.Complete, fleet.Complete},
		{c.Failed, fleet.Failed},
		{c.Cancelled, fleet.Cancelled},
		{c.Running, fleet.Running},
		{c.Queued, fleet.Queued},
	} {
		if n.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.n, n.word))
		}
	}
	if len(parts) == 0 {
		return "no tasks"
	}
	return strings.Join(parts, ", ")
}

// RunCounts formats the numbers of a run's tasks like [Counts]. It counts tasks that wait for the
// user separately from running tasks.
func RunCounts(r fleet.Run) string {
	waiting := 0
	for _, t := range r.Tasks {
		if t.Status == fleet.Running && Waiting(t) {
			waiting++
		}
	}
	if waiting == 0 {
		return Counts(r.Counts)
	}
	c := r.Counts
	c.Running, c.Total = c.Running-waiting, c.Total-waiting
	if c.Total == 0 {
		return fmt.Sprintf("%d waiting", waiting)
	}
	return fmt.Sprintf("%d waiting, %s", waiting, Counts(c))
}

// Count formats a number with a noun, such as "1 task" or "2 tasks".
func Count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// Paused describes a paused agent account, such as "claude paused until 14:00, usage limit", or a
// cost limit that is reached, such as "the day's budget of $20.00 is spent; more at 00:00".
func Paused(l fleet.Lane, now time.Time) string {
	if l.Budget() {
		return fmt.Sprintf("%s; more at %s", Line(l.Reason), untilText(l.Until, now))
	}
	return Line(l.Name) + " " + PausedUntil(l, now)
}

// PausedUntil describes the pause of an agent account, such as "paused until 14:00, usage limit".
// The parameter l must be a paused account, not a cost limit.
func PausedUntil(l fleet.Lane, now time.Time) string {
	reason := l.Reason
	switch failure.Class(reason) {
	case failure.RateLimited:
		reason = "usage limit"
	case failure.Auth:
		reason = "login refused"
	}
	return Join(", ", "paused until "+Clock(l.Until, now), Line(reason))
}

// Using names the agent and the account of an attempt, such as "claude/work". If a fallback agent
// works instead of the task's own agent, it names both, such as "codex for claude". It returns ""
// if the task's own agent works with the account that its program is logged in to.
func Using(t fleet.Task, a *fleet.Attempt) string {
	if a == nil || a.Account == "" && a.Fallback == "" {
		return ""
	}
	text := cmp.Or(a.Fallback, t.Agent, "claude")
	if a.Account != "" {
		text += "/" + a.Account
	}
	if a.Fallback != "" {
		text += " for " + cmp.Or(t.Agent, "claude")
	}
	return Line(text)
}

// untilText formats the time t like [Clock], but leaves out the date if t is at most 24 hours after
// now.
func untilText(t, now time.Time) string {
	if t.Sub(now) <= 24*time.Hour {
		return t.In(now.Location()).Format("15:04")
	}
	return Clock(t, now)
}

// Join joins the parts that are not empty, and puts the separator between them.
func Join(separator string, parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, separator)
}
