// Package fleet is what runs, as a person or a program that looks from outside
// sees it: runs with their tasks, attempts, questions and lanes. It is the shape
// of every '--json' about runs, and all that a user interface knows of them.
package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Status is where a run, a task or an attempt is.
type Status string

// The statuses. A run is never queued.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Complete  Status = "complete"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Final reports whether nothing follows by itself.
func (s Status) Final() bool { return s == Complete || s == Failed || s == Cancelled }

// Run is one submitted plan.
type Run struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Status     Status    `json:"status"`
	Project    string    `json:"project,omitempty"`
	SourceFile string    `json:"source_file,omitempty"`
	Team       string    `json:"team,omitempty"` // the session of the team whose run it is
	Parallel   int       `json:"parallel,omitempty"`
	Stopping   string    `json:"stopping,omitempty"` // why no task starts any more
	Counts     Counts    `json:"counts"`
	Spent      Cost      `json:"spent"`
	Budget     Cost      `json:"budget,omitzero"`
	WorkedMS   int64     `json:"worked_ms,omitempty"` // by attempts that have ended, without the time that they waited
	WaitedMS   int64     `json:"waited_ms,omitempty"` // for a person, by attempts that have ended
	Created    time.Time `json:"created"`
	Ended      time.Time `json:"ended,omitzero"`
	Owner      Owner     `json:"owner,omitzero"`      // the gaffer that runs it, if one does
	Documents  string    `json:"documents,omitempty"` // the folder of its session, with status.json and the logs
	Tasks      []Task    `json:"tasks"`               // in the order of the plan
	Lanes      []Lane    `json:"lanes,omitempty"`     // those that are paused
}

// Paused are the lanes that keep a task of the run from starting now.
func (r Run) Paused(now time.Time) (list []Lane) {
	for _, l := range r.Lanes {
		holds := func(t Task) bool { return !t.Status.Final() && cmp.Or(t.Agent, "claude") == l.Name }
		if l.Until.After(now) && slices.ContainsFunc(r.Tasks, holds) {
			list = append(list, l)
		}
	}
	return list
}

// Owner is the process that runs a run.
type Owner struct {
	PID   int  `json:"pid,omitempty"`
	Alive bool `json:"alive,omitempty"`
	// Gone is that the run has not ended, and that no process works on it. It is
	// only known where the run was worked on: on other machines neither is set.
	Gone bool `json:"gone,omitempty"`
}

// Counts are the tasks of a run by status.
type Counts struct {
	Total     int `json:"total"`
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Complete  int `json:"complete"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
}

// Cost is money and tokens.
type Cost struct {
	USD    float64 `json:"usd,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
}

// Task is one step of a run.
type Task struct {
	Run      string    `json:"run"`
	ID       string    `json:"id"`
	Name     string    `json:"name,omitempty"`
	Status   Status    `json:"status"`
	Wave     int       `json:"wave,omitempty"`
	After    []string  `json:"after,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Model    string    `json:"model,omitempty"`
	Tries    int       `json:"tries"`               // attempts so far
	Retries  int       `json:"retries"`             // that are allowed after the first
	Outcome  string    `json:"outcome,omitempty"`   // the failure class of the last attempt, or why it was cancelled
	RetryAt  time.Time `json:"retry_at,omitzero"`   // it waits until then
	NoWorker string    `json:"no_worker,omitempty"` // why no worker takes it that is online, of a task that could start
	Worktree string    `json:"worktree,omitempty"`
	Branch   string    `json:"branch,omitempty"`
	Session  string    `json:"session,omitempty"` // the tmux session that shows its agent
	Prompt   string    `json:"prompt,omitempty"`  // only where one task is asked for
	Attempt  *Attempt  `json:"attempt,omitempty"` // the one that runs, or else the last
	Question *Question `json:"question,omitempty"`
}

// Attempt is one try at a task.
type Attempt struct {
	ID      string    `json:"id"`
	Number  int       `json:"number"`
	Status  Status    `json:"status"`
	Worker  string    `json:"worker"`
	Class   string    `json:"class,omitempty"`   // how it failed
	Summary string    `json:"summary,omitempty"` // the agent's last words, or what went wrong
	Exit    int       `json:"exit"`
	Thread  string    `json:"thread,omitempty"`
	Log     string    `json:"log,omitempty"`
	LogFrom int64     `json:"log_from,omitempty"` // where in Log its output begins; the attempts of a task share it
	PID     int       `json:"pid,omitempty"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Spent   Cost      `json:"spent,omitzero"`
	// How long the agent waited for answers of a person, without the wait that
	// goes on, and since when that does. The rest of its time it worked.
	WorkedMS     int64     `json:"worked_ms,omitempty"` // of one that has ended
	WaitedMS     int64     `json:"waited_ms,omitempty"`
	WaitingSince time.Time `json:"waiting_since,omitzero"`

	Checks []Check  `json:"checks,omitempty"`
	Denied []string `json:"denied,omitempty"` // what was refused to the agent, also if it went on without
	Diff   *Diff    `json:"diff,omitempty"`   // of one that has ended, in a worktree

	// What the agent does, who says so, and when it was said.
	State  string    `json:"state,omitempty"` // running, waiting, retrying
	Doing  string    `json:"doing,omitempty"`
	Source string    `json:"source,omitempty"`
	Said   time.Time `json:"said,omitzero"`
}

// Times are how long the agent has worked and how long it has waited for a person,
// until now if it runs.
func (a Attempt) Times(now time.Time) (worked, waited time.Duration) {
	if !a.Ended.IsZero() {
		now = a.Ended
	}
	waited = time.Duration(a.WaitedMS) * time.Millisecond
	if !a.WaitingSince.IsZero() {
		waited += max(now.Sub(a.WaitingSince), 0)
	}
	return max(now.Sub(a.Started)-waited, 0), waited
}

// LogQuery says which part of a task's log is wanted.
type LogQuery struct {
	Attempt int  // only what this attempt wrote; 0 is all of them
	Tail    int  // at most so many lines at the end; negative is all
	Follow  bool // also what comes, until the task or the attempt has ended
}

// Check is a verify command and how it went.
type Check struct {
	Command string `json:"command"`
	OK      bool   `json:"ok"`
	Exit    int    `json:"exit"`
	Output  string `json:"output,omitempty"` // its end
	Millis  int64  `json:"millis"`
}

// Diff is what the worktree of a task had in it that the commit had not which its
// branch started from, also what was not committed.
type Diff struct {
	Files   []FileDiff `json:"files"`   // the first of them, by their paths
	Changed int        `json:"changed"` // how many there are
	Added   int        `json:"added"`   // lines in all of them
	Removed int        `json:"removed"`
}

// FileDiff is a file that is different. One that is no text has no lines.
type FileDiff struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// MostFiles is how many files a [Diff] lists.
const MostFiles = 200

// Ask is a question of an agent that has no task, such as one that a person has
// started by hand.
type Ask struct {
	From    string // who asks: what a person calls it when they answer
	Ref     string // the agent's own id of it: asked again it is the same question
	Text    string
	Options []string
	Within  time.Duration // how long a person has
	Attempt string        // whose agent asks and waits for the answer, if one does
}

// Answered is what has become of a question.
type Answered struct {
	Closed bool   `json:"closed,omitempty"` // answered, or nobody waits any more
	Answer string `json:"answer,omitempty"`
	Denied bool   `json:"denied,omitempty"` // what was asked for, with Answer as the reason
	By     string `json:"by,omitempty"`     // empty if nobody has answered
}

// Question is something that an agent waits for a person to decide. One that
// belongs to no task has no run, and as its task the name of who asks.
type Question struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"` // what every view calls it, and 'gaffer answer' takes; see [QuestionName]
	Run     string    `json:"run"`
	Task    string    `json:"task"`
	Text    string    `json:"text"`
	Options []string  `json:"options,omitempty"`
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires,omitzero"` // after which Default is the answer
	Default string    `json:"default,omitempty"`
}

// Choose is what a typed answer means: the text of an option, the number of one
// from 1, or else the text itself. A number that no option has is an error: it is
// a typing mistake, and the agent would take it for an answer. A number in double
// quotes is a text.
func (q Question) Choose(typed string) (string, error) {
	if inner, ok := strings.CutPrefix(typed, `"`); ok && strings.HasSuffix(inner, `"`) {
		if inner = strings.TrimSuffix(inner, `"`); isNumber(inner) {
			return inner, nil
		}
	}
	n, err := strconv.Atoi(typed)
	switch {
	case err != nil || len(q.Options) == 0 || slices.Contains(q.Options, typed):
		return typed, nil
	case n < 1 || n > len(q.Options):
		return "", &NoOptionError{Number: n, Options: len(q.Options)}
	}
	return q.Options[n-1], nil
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// NoOptionError is the number of an option that a question does not have.
type NoOptionError struct{ Number, Options int }

func (e *NoOptionError) Error() string {
	s := "s"
	if e.Options == 1 {
		s = ""
	}
	return fmt.Sprintf("option %d: the question has %d option%s; a number in double quotes is a text", e.Number, e.Options, s)
}

// Usage marks the error as one about what was typed.
func (*NoOptionError) Usage() bool { return true }

// QuestionName is what a question is called in every list and view, and what 'gaffer
// answer' takes: SHORT-RUN/TASK of a task, and the name of who asks otherwise. Two
// questions of one task or agent have the same name; the older one is answered first.
func QuestionName(run, task string) string {
	if run == "" {
		// The agent of a task that asks through a tool gives RUN/TASK as its name.
		var ok bool
		if run, task, ok = strings.Cut(task, "/"); !ok {
			return run
		}
	}
	return ShortRun(run) + "/" + task
}

// ShortRun is the random part of a run's id, such as 4cebc8bf of
// 20260301-115800-4cebc8bf. An id of another form is returned as it is.
func ShortRun(id string) string {
	parts := strings.Split(id, "-")
	if len(parts) != 3 || len(parts[0]) != 8 || len(parts[1]) != 6 || parts[2] == "" || strings.Trim(parts[0]+parts[1], "0123456789") != "" {
		return id
	}
	return parts[2]
}

// Lane is an agent account that is paused.
type Lane struct {
	Name   string    `json:"name"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
}

// Add counts a task.
func (c *Counts) Add(s Status) { c.Count(s, +1) }

// Remove takes a task away.
func (c *Counts) Remove(s Status) { c.Count(s, -1) }

// Count counts so many tasks.
func (c *Counts) Count(s Status, by int) {
	c.Total += by
	switch s {
	case Queued:
		c.Queued += by
	case Running:
		c.Running += by
	case Complete:
		c.Complete += by
	case Failed:
		c.Failed += by
	case Cancelled:
		c.Cancelled += by
	}
}

// Merge is runs and those of others that are not among them, the latest first.
func Merge(runs, others []Run) []Run {
	known := make(map[string]bool, len(runs))
	for _, r := range runs {
		known[r.ID] = true
	}
	all := slices.Clone(runs)
	for _, r := range others {
		if !known[r.ID] {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Run) int { return b.Created.Compare(a.Created) })
	return all
}
