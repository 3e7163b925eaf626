package runquery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// lateMerges limits the age of the runs that a report reads. A change may be reviewed or merged
// after its run has ended. A report contains such reviews and merges only for runs that ended at
// most lateMerges before the report's start. So it need not read the reviews of all older runs.
const lateMerges = 30 * 24 * time.Hour

// Morning reports what has happened to tasks from q.Since until now, which tasks are running now,
// and which tasks wait for the user.
func (l *Querier) Morning(ctx context.Context, q fleet.MorningQuery, now time.Time) (fleet.MorningReport, error) {
	costs, err := l.Cost(ctx, fleet.CostQuery{Project: q.Project, Since: q.Since, By: fleet.CostByRun})
	if err != nil {
		return fleet.MorningReport{}, err
	}
	c := morningCount{
		report: fleet.MorningReport{
			Since: q.Since, Until: now, Cost: costs.Total, Runs: []fleet.MorningRun{},
			Merged: []fleet.MorningTask{}, Review: []fleet.MorningTask{}, Done: []fleet.MorningTask{}, Failed: []fleet.MorningTask{},
			Waiting: []fleet.MorningTask{}, Running: []fleet.MorningTask{}, Skipped: []fleet.MorningTask{},
			Questions: []fleet.MorningQuestion{}, Accounts: []fleet.MorningAccount{}, NotStarted: []fleet.MorningFire{},
		},
		costs: map[string]fleet.CostRow{}, questions: map[questionGroup]*questionCount{}, accounts: map[string]*accountCount{},
	}
	for _, row := range costs.Rows {
		c.costs[row.Key] = row
	}
	var runs []store.Run
	if err := l.store.Read(ctx, func(r store.Reader) (err error) {
		if runs, err = l.Latest(r, q.Project, true, math.MaxInt); err != nil {
			return err
		}
		if l.opts.NotStarted != nil {
			if err := c.addNotStarted(l.opts.NotStarted(r, q.Project, q.Since)); err != nil {
				return err
			}
		}
		c.paused, err = pausedAccounts(r)
		return err
	}); err != nil {
		return fleet.MorningReport{}, err
	}
	for _, p := range c.paused {
		if p.Until.After(now) {
			c.account(p.Name).Until = p.Until
		}
	}
	for _, run := range runs {
		if !run.Ended.IsZero() && run.Ended.Before(q.Since.Add(-lateMerges)) {
			continue
		}
		// Read each run in its own transaction, so that a report over many runs holds no snapshot
		// for long.
		if err := l.store.Read(ctx, func(r store.Reader) error {
			rows, err := readMorning(r, run, q.Since)
			if err == nil {
				err = c.addRun(rows)
			}
			return err
		}); err != nil && !errors.Is(err, store.ErrNotFound) { // leave out a run that was deleted since its row was read
			return fleet.MorningReport{}, err
		}
	}
	return c.result(), nil
}

// morningRows are the rows of a run that a morning report needs.
type morningRows struct {
	run       store.Run
	tasks     []store.Task
	attempts  map[string]store.Attempt // by id
	reviews   map[string]fleet.Review  // by task
	questions []store.Question
}

// readMorning reads the rows of a run for a report that starts at the time since. It always reads
// the reviews of the run. It reads the other rows only if the run had not ended before the time
// since, or if one of the reviews has changed since then.
func readMorning(r store.Reader, run store.Run, since time.Time) (rows morningRows, err error) {
	rows = morningRows{run: run, attempts: map[string]store.Attempt{}, reviews: map[string]fleet.Review{}}
	items, err := r.Items(engine.ReviewKind, run.ID, math.MinInt64, math.MaxInt32)
	if err != nil {
		return rows, err
	}
	reviewed := false // whether a review has changed at or after the time since
	for _, item := range items {
		var v fleet.Review
		if err := json.Unmarshal(item.Data, &v); err != nil {
			return rows, fmt.Errorf("review %s: %w", item.ID, err)
		}
		rows.reviews[v.Task] = v
		reviewed = reviewed || !v.Updated.Before(since) || v.Landing != nil && !v.Landing.At.Before(since)
	}
	if endedBefore(run, since) && !reviewed {
		return rows, nil
	}
	if rows.tasks, err = r.Tasks(run.ID); err != nil {
		return rows, err
	}
	attempts, err := r.AttemptsOf(run.ID)
	if err != nil {
		return rows, err
	}
	for _, a := range attempts {
		rows.attempts[a.ID] = a
	}
	rows.questions, err = r.QuestionsOf(run.ID)
	return rows, err
}

// morningCount collects the data of a morning report, run by run.
type morningCount struct {
	report    fleet.MorningReport
	costs     map[string]fleet.CostRow // by run
	questions map[questionGroup]*questionCount
	accounts  map[string]*accountCount
	paused    []fleet.Lane
}

// questionGroup is the key by which questions are grouped: the questions with the same key are
// counted in one [fleet.MorningQuestion].
type questionGroup struct {
	by, tool     string
	denied, open bool
}

// questionCount counts the questions that have the same questionGroup.
type questionCount struct {
	fleet.MorningQuestion
	asked time.Time // when the latest question was asked, whose text is in the field Example
}

// accountCount counts the attempts of an account. Money is in micro-dollars, so that sums are
// exact.
type accountCount struct {
	fleet.MorningAccount
	micro int64 // total cost of the account's attempts, in micro-dollars
	known bool  // the cost of at least one attempt is known
}

func (c *morningCount) account(name string) *accountCount {
	if c.accounts[name] == nil {
		c.accounts[name] = &accountCount{MorningAccount: fleet.MorningAccount{Name: name}}
	}
	return c.accounts[name]
}

func (c *morningCount) addRun(rows morningRows) error {
	before := c.size()
	waiting := map[string]store.Question{} // the oldest open question of each task, by the id of the task
	for _, q := range rows.questions {
		if _, known := waiting[q.Task]; !q.Closed && !known {
			waiting[q.Task] = q
		}
		if !q.Closed || !q.Asked.Before(c.report.Since) {
			c.addQuestion(q)
		}
	}
	counts := fleet.Counts{}
	accounts := map[string]string{} // name of the account that each task uses, by the id of the task; empty if the task uses no model
	for _, t := range rows.tasks {
		counts.Add(fleet.Status(t.Status))
		spec, err := plan.DecodeTask(t.Spec)
		if err != nil {
			return err
		}
		if accounts[t.Task] = t.Account; usesNoModel(engine.AgentOf(spec)) {
			accounts[t.Task] = ""
		}
		if spec.Candidate == "" && !strings.HasPrefix(spec.Agent, "gaffer-") || spec.Pick != nil && !spec.Pick.IsJudge {
			c.addTask(rows, t, spec, waiting)
		}
	}
	for _, a := range rows.attempts {
		if !a.Started.Before(c.report.Since) && accounts[a.Task] != "" {
			c.addAttempt(accounts[a.Task], a)
		}
	}
	cost, spent := c.costs[rows.run.ID]
	if c.size() == before && !spent && rows.run.Created.Before(c.report.Since) {
		return nil // nothing has happened in the run since the report's start
	}
	run := rows.run
	c.report.Runs = append(c.report.Runs, fleet.MorningRun{
		ID: run.ID, Name: run.Name, Project: run.Project, Status: fleet.Status(run.Status), StartedBy: run.StartedBy, Stopping: run.Stopping,
		Counts: counts, Cost: cost, Created: run.Created, Ended: run.Ended,
	})
	return nil
}

// size returns the total number of tasks in the lists of the report.
func (c *morningCount) size() int {
	r := c.report
	return len(r.Merged) + len(r.Review) + len(r.Done) + len(r.Failed) + len(r.Waiting) + len(r.Running) + len(r.Skipped)
}

func (c *morningCount) addAttempt(account string, a store.Attempt) {
	if a.Account != "" && !strings.Contains(account, "/") {
		account += "/" + a.Account
	}
	n := c.account(account)
	n.Attempts++
	n.micro += a.Spent.MicroUSD
	n.known = n.known || a.Spent.MicroUSD > 0
	if a.Class == failure.RateLimited {
		n.Limited++
	}
}

func (c *morningCount) addQuestion(q store.Question) {
	key := questionGroup{q.By, q.Tool, q.Denied, !q.Closed}
	group := c.questions[key]
	if group == nil {
		group = &questionCount{MorningQuestion: fleet.MorningQuestion{By: q.By, Tool: q.Tool, Denied: q.Denied, Open: !q.Closed}}
		c.questions[key] = group
	}
	group.Count++
	if !q.Asked.Before(group.asked) {
		group.asked, group.Example, group.Answer, group.Run, group.Task = q.Asked, line(q.Text), line(q.Answer), q.Run, q.Task
	}
}

// addTask adds a task to one of the lists of the report. The status of the task and the state of
// its review determine the list. addTask leaves out a task that ended before the report's start,
// unless the task's change was merged or discarded after the start.
func (c *morningCount) addTask(rows morningRows, t store.Task, spec plan.Task, waiting map[string]store.Question) {
	last := rows.attempts[cmp.Or(t.RunningAttempt, t.LastAttempt)]
	review, reviewed := rows.reviews[t.Task]
	m := fleet.MorningTask{
		Run: t.Run, Task: t.Task, Name: t.Name, Agent: engine.AgentOf(spec), Status: fleet.Status(t.Status), Tries: t.Tries,
		Spent: costOf(t.Spent), Into: spec.Into, At: rows.endOf(t), Item: itemOf(spec.Item),
	}
	diff := diffOf(last.Diff)
	if diff != nil {
		m.Changed, m.Added, m.Removed = diff.Changed, diff.Added, diff.Removed
	}
	if reviewed {
		m.Review = review.State
	}
	r := &c.report
	since := r.Since
	switch {
	case reviewed && review.State == fleet.ReviewMerged && review.Landing != nil:
		if m.At, m.Into = review.Landing.At, review.Landing.Into; !m.At.Before(since) {
			r.Merged = append(r.Merged, m)
		}
	case reviewed && review.State == fleet.ReviewDiscarded:
		if m.At, m.Why = review.Updated, "its change was discarded"; review.By != "" {
			m.Why += " by " + line(review.By)
		}
		if !m.At.Before(since) {
			r.Skipped = append(r.Skipped, m)
		}
	case t.Status == store.Queued || t.Status == store.Running:
		m.At = time.Time{}
		q, asks := waiting[t.Task]
		switch {
		case asks:
			m.Why = line(q.Text)
			r.Waiting = append(r.Waiting, m)
			return
		case t.Status == store.Running:
			m.Why = line(last.Doing)
		default:
			m.Why = c.delay(t)
		}
		r.Running = append(r.Running, m)
	case m.At.Before(since):
	case t.Status == store.Failed:
		m.Class, m.Why = t.Outcome, rows.failureLine(t, last)
		r.Failed = append(r.Failed, m)
	case t.Status == store.Cancelled:
		if m.Why = t.Outcome; m.Why == "dependency" {
			m.Why = "a task that it needs did not complete"
		}
		r.Skipped = append(r.Skipped, m)
	case diff != nil && diff.Changed > 0 && spec.Land != plan.LandKeep && spec.SharedWorktree == "":
		r.Review = append(r.Review, m)
	default:
		m.Why = answerLine(last.Summary)
		r.Done = append(r.Done, m)
	}
}

// endOf returns when a task ended, which is the end of its last attempt. If no attempt at the task
// has ended, no such time is stored, and endOf returns the first of these times that exists: the
// latest end of an attempt at a task that t needs, the end of the run, and the time at which the
// run was created.
func (rows morningRows) endOf(t store.Task) (at time.Time) {
	if t.LastAttempt != "" {
		return rows.attempts[t.LastAttempt].Ended
	}
	for _, a := range rows.attempts {
		if slices.Contains(t.Needs, a.Task) && a.Ended.After(at) {
			at = a.Ended
		}
	}
	switch {
	case !at.IsZero():
		return at
	case !rows.run.Ended.IsZero():
		return rows.run.Ended
	}
	return rows.run.Created
}

// endedBefore reports whether a run ended before the time at. For a run that has not ended, the
// result is false.
func endedBefore(run store.Run, at time.Time) bool {
	return !run.Ended.IsZero() && run.Ended.Before(at)
}

// failureLine returns a text of one line that says why a task failed.
func (rows morningRows) failureLine(t store.Task, last store.Attempt) string {
	if t.Outcome == string(failure.VerifyFailed) {
		var checks []fleet.Check
		// If decoding fails, checks is empty, and the attempt's summary is used as the reason.
		_ = json.Unmarshal(last.Checks, &checks)
		for _, check := range checks {
			if !check.OK {
				return line(fmt.Sprintf("%s (exit %d)", check.Command, check.Exit))
			}
		}
	}
	if t.Outcome == string(failure.OverBudget) && last.Class != failure.OverBudget && rows.run.Budget.Limits() {
		return "the run has spent " + rows.run.Spent.Of(rows.run.Budget) + ", which does not allow another attempt"
	}
	if t.Outcome != string(last.Class) { // the task's last attempt is not the reason why the task failed
		return line(t.Outcome)
	}
	return line(cmp.Or(last.Summary, t.Outcome))
}

// delay returns why a queued task does not start now: the account that its agent uses is paused, or
// the delay before the next attempt has not passed. It returns "" in all other cases.
func (c *morningCount) delay(t store.Task) string {
	for _, p := range c.paused {
		if p.Name == t.Account && p.Until.After(c.report.Until) {
			return fmt.Sprintf("%s is paused until %s: %s", p.Name, p.Until.UTC().Format(time.RFC3339), p.Reason)
		}
	}
	if !t.NotBefore.After(c.report.Until) {
		return ""
	}
	again := "again at " + t.NotBefore.UTC().Format(time.RFC3339)
	if t.Outcome != "" {
		again = t.Outcome + ": " + again
	}
	return again
}

// maxLine is the maximum length of a text in a morning report, in characters.
const maxLine = 200

// line returns a text on one line, shortened to maxLine characters.
func line(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), 20*maxLine)], "")
	text = strings.Join(strings.Fields(text), " ")
	if chars := []rune(text); len(chars) > maxLine {
		return string(chars[:maxLine-1]) + "…"
	}
	return text
}

// answerLine returns the answer of an agent on one line. An answer may be a JSON object, for
// example if the agent works in a team of agents. Of such an object, answerLine returns only the
// first of the fields summary, message and status that is not empty, or "" if there is none.
func answerLine(text string) string {
	var answer map[string]any
	if json.Unmarshal([]byte(text), &answer) != nil {
		return line(text)
	}
	for _, key := range []string{"summary", "message", "status"} {
		if value, ok := answer[key].(string); ok && value != "" {
			return line(value)
		}
	}
	return ""
}

func itemOf(i plan.SourceItem) *fleet.SourceItem {
	if i == (plan.SourceItem{}) {
		return nil
	}
	return &fleet.SourceItem{Source: i.Source, ID: i.ID, URL: i.URL, Title: i.Title}
}

func (c *morningCount) addNotStarted(fires []fleet.MorningFire, err error) error {
	// Set the list instead of appending to it, so that a second call would not add the same entries
	// again.
	c.report.NotStarted = append([]fleet.MorningFire{}, fires...)
	for i := range fires {
		c.report.NotStarted[i].Why = line(fires[i].Why)
	}
	return err
}

// result sorts and returns the report. Lists of ended tasks are sorted by time, the latest first.
// The lists Waiting and Running keep the order in which their tasks were added.
func (c *morningCount) result() fleet.MorningReport {
	r := c.report
	for _, list := range [][]fleet.MorningTask{r.Merged, r.Review, r.Done, r.Failed, r.Skipped} {
		slices.SortStableFunc(list, func(a, b fleet.MorningTask) int { return b.At.Compare(a.At) })
	}
	for _, q := range c.questions {
		r.Questions = append(r.Questions, q.MorningQuestion)
	}
	slices.SortFunc(r.Questions, func(a, b fleet.MorningQuestion) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.By, b.By), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Example, b.Example))
	})
	for _, name := range slices.Sorted(maps.Keys(c.accounts)) {
		a := c.accounts[name]
		if a.known {
			usd := float64(a.micro) / 1e6
			a.USD = &usd
		}
		r.Accounts = append(r.Accounts, a.MorningAccount)
	}
	return r
}
