// Package fleet defines runs as users and other programs see them: runs with their tasks,
// attempts, questions and lanes (paused agent accounts). Every '--json' output about runs
// has these types, and user interfaces know runs only through them.
package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Status is the state of a run, a task or an attempt.
type Status string

// The statuses of runs, tasks and attempts. A run is never queued.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Complete  Status = "complete"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Final reports whether the run, task or attempt has ended. Then the status changes only if a
// user lets the work continue.
func (s Status) Final() bool { return s == Complete || s == Failed || s == Cancelled }

// Run is one submitted plan.
type Run struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Status     Status    `json:"status"`
	Project    string    `json:"project,omitempty"`
	SourceFile string    `json:"source_file,omitempty"`
	StartedBy  string    `json:"started_by,omitempty"` // what started the run: "schedule NAME" or "source NAME"; empty if the user did
	Team       string    `json:"team,omitempty"`       // id of the team session that the run belongs to; empty if none
	Parallel   int       `json:"parallel,omitempty"`
	Stopping   string    `json:"stopping,omitempty"` // why no further task of the run starts; empty if tasks may start
	Counts     Counts    `json:"counts"`
	Spent      Cost      `json:"spent"`
	Budget     Cost      `json:"budget,omitzero"`
	WorkedMS   int64     `json:"worked_ms,omitempty"` // working time of all ended attempts, without time spent waiting
	WaitedMS   int64     `json:"waited_ms,omitempty"` // how long all ended attempts waited for the user
	Created    time.Time `json:"created"`
	Ended      time.Time `json:"ended,omitzero"`
	Owner      Owner     `json:"owner,omitzero"`      // the gaffer process that works on the run; zero if none
	Documents  string    `json:"documents,omitempty"` // path of the run's session folder, with status.json and the logs
	Tasks      []Task    `json:"tasks"`               // in the order of the plan
	Lanes      []Lane    `json:"lanes,omitempty"`     // agent accounts that are paused, and limits of the user that are reached
}

// Paused returns the lanes that now prevent an unfinished task of the run from starting: the reached
// limits of the user, and the paused accounts of the task's agent if its fallbacks are paused too.
func (r Run) Paused(now time.Time) (list []Lane) {
	held := map[string]bool{} // agents whose accounts are all paused
	for _, l := range r.Lanes {
		if l.Until.After(now) && !l.Free && !l.Budget() {
			held[l.Agent()] = true
		}
	}
	for _, l := range r.Lanes {
		holds := func(t Task) bool {
			switch {
			case t.Status.Final():
				return false
			case l.Budget():
				return true
			case cmp.Or(t.Agent, "claude") != l.Agent():
				return false
			}
			return !slices.ContainsFunc(t.Fallback, func(name string) bool { return !held[name] })
		}
		if l.Until.After(now) && !l.Free && slices.ContainsFunc(r.Tasks, holds) {
			list = append(list, l)
		}
	}
	return list
}

// SpentNow returns what the run has cost, including what its running attempts have reported so far.
// It is the same as Spent if the run has no list of tasks.
func (r Run) SpentNow() Cost {
	spent := r.Spent
	for _, t := range r.Tasks {
		if a := t.Attempt; a != nil && a.Status == Running {
			spent.USD, spent.Tokens = spent.USD+a.Spent.USD, spent.Tokens+a.Spent.Tokens
		}
	}
	return spent
}

// Share returns c as a part of a limit: 1 is all of the limit. If money and tokens are limited, it
// returns the greater part. If neither is, it returns 0.
func (c Cost) Share(limit Cost) (share float64) {
	if limit.USD > 0 {
		share = c.USD / limit.USD
	}
	if limit.Tokens > 0 {
		share = max(share, float64(c.Tokens)/float64(limit.Tokens))
	}
	return share
}

// Owner is the gaffer process that works on a run.
type Owner struct {
	PID   int  `json:"pid,omitempty"`
	Alive bool `json:"alive,omitempty"`
	// Gone reports that the run has not ended but no process works on it. Only the machine that
	// worked on the run can know this. On other machines neither Alive nor Gone is set.
	Gone bool `json:"gone,omitempty"`
}

// Counts holds the number of tasks with each status.
type Counts struct {
	Total     int `json:"total"`
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Complete  int `json:"complete"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
}

// Cost is an amount of money and tokens.
type Cost struct {
	USD    float64 `json:"usd,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
}

// Task is one piece of work in a run.
type Task struct {
	Run      string    `json:"run"`
	ID       string    `json:"id"`
	Name     string    `json:"name,omitempty"`
	Status   Status    `json:"status"`
	Wave     int       `json:"wave,omitempty"`
	After    []string  `json:"after,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Model    string    `json:"model,omitempty"`
	Fallback []string  `json:"fallback,omitempty"`  // agents that continue the task while its own agent is at a rate limit, as AGENT or AGENT:MODEL
	Tries    int       `json:"tries"`               // number of attempts so far
	Retries  int       `json:"retries"`             // how many attempts are allowed after the first
	Outcome  string    `json:"outcome,omitempty"`   // failure class of the last attempt, or why the task was cancelled
	RetryAt  time.Time `json:"retry_at,omitzero"`   // when the next attempt may start; zero if at once
	Spent    Cost      `json:"spent,omitzero"`      // cost of all ended attempts
	Budget   Cost      `json:"budget,omitzero"`     // what all attempts may cost together; zero means no limit
	WorkedMS int64     `json:"worked_ms,omitempty"` // working time of all ended attempts
	NoWorker string    `json:"no_worker,omitempty"` // why no online worker takes this task although it is ready; empty if one does, or if the task needs no worker of a server
	Worktree string    `json:"worktree,omitempty"`
	Branch   string    `json:"branch,omitempty"`
	// Candidate is the id of the picking task, which chooses one of several candidates. It is set
	// for each candidate and for their judge. Candidates has the ids of the candidates. It is set
	// only for the picking task.
	Candidate  string    `json:"candidate_of,omitempty"`
	Candidates []string  `json:"candidates,omitempty"`
	Fork       *Fork     `json:"forked_from,omitempty"` // the task that this task was forked from; nil if it was not forked
	Session    string    `json:"session,omitempty"`     // name of the tmux session that shows the task's agent; empty if none
	Prompt     string    `json:"prompt,omitempty"`      // set only in the answer to a request for a single task
	Attempt    *Attempt  `json:"attempt,omitempty"`     // the running attempt; if none is running, the last one
	Question   *Question `json:"question,omitempty"`
}

// AgentOf returns the name of the agent that works on an attempt at the task: the task's own agent, or
// the fallback in its place.
func (t Task) AgentOf(a Attempt) string {
	agent, _, _ := strings.Cut(a.Fallback, ":")
	return cmp.Or(agent, t.Agent, "claude")
}

// Attempt is one start of an agent on a task.
type Attempt struct {
	ID     string `json:"id"`
	Number int    `json:"number"`
	Status Status `json:"status"`
	Worker string `json:"worker"`
	// Account is the user's account that the agent uses; empty if the program uses its own.
	// Fallback is the agent that works on the attempt in place of the task's own agent, as AGENT or
	// AGENT:MODEL; empty if the task's own agent does.
	Account  string `json:"account,omitempty"`
	Fallback string `json:"fallback,omitempty"`
	Class    string `json:"class,omitempty"`   // failure class; empty if the attempt did not fail
	Summary  string `json:"summary,omitempty"` // the agent's last message, or what went wrong
	Exit     int    `json:"exit"`
	Process
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Spent   Cost      `json:"spent,omitzero"`
	Context Context   `json:"context,omitzero"`
	// WaitedMS is how long the agent waited for the user, without the current wait. WaitingSince is
	// when the current wait began; zero if the agent does not wait. All other time of the attempt
	// counts as work.
	WorkedMS     int64     `json:"worked_ms,omitempty"` // set only if the attempt has ended
	WaitedMS     int64     `json:"waited_ms,omitempty"`
	WaitingSince time.Time `json:"waiting_since,omitzero"`

	Checks []Check  `json:"checks,omitempty"`
	Denied []string `json:"denied,omitempty"` // actions that the agent was not allowed to do, even if it continued without them
	Diff   *Diff    `json:"diff,omitempty"`   // nil until the attempt has ended, or if it has no worktree

	Activity
}

// Times returns how long the agent worked and how long it waited for the user. If the attempt is
// running, both are measured until now.
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

// LogQuery selects a part of a task's log.
type LogQuery struct {
	Attempt int  // number of the attempt whose output is wanted; 0 means all attempts
	Tail    int  // number of lines from the end of the log; 0 means none, a negative number means all
	Follow  bool // also return output that the agent writes later, until the task or the attempt has ended
}

// Check is a verify command and its result.
type Check struct {
	Command string `json:"command"`
	OK      bool   `json:"ok"`
	Exit    int    `json:"exit"`
	Output  string `json:"output,omitempty"` // the last part of the command's output
	Millis  int64  `json:"millis"`
}

// Diff is the difference between a task's worktree and the commit that its branch started
// from. It includes changes that are not committed.
type Diff struct {
	Files   []FileDiff `json:"files"`   // at most MostFiles, sorted by path
	Changed int        `json:"changed"` // number of changed files
	Added   int        `json:"added"`   // number of added lines, in all files
	Removed int        `json:"removed"`
}

// FileDiff is one changed file. Its line counts are 0 if it is not text.
type FileDiff struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// MostFiles is the maximum number of files that a [Diff] lists.
const MostFiles = 200

// Ask is a question of an agent that has no task, such as an agent that the user has started by
// hand.
type Ask struct {
	From    string // name of the agent that asks; the user gives it to answer the question
	Ref     string // id that the agent gave the question: asking again with the same Ref is the same question
	Text    string
	Options []string
	Within  time.Duration // how long the agent waits for the answer
	Attempt string        // id of the attempt whose agent asks; empty if none
}

// Answered says whether and how a question was answered.
type Answered struct {
	Closed bool   `json:"closed,omitempty"` // the question was answered, or the agent no longer waits for an answer
	Answer string `json:"answer,omitempty"`
	Denied bool   `json:"denied,omitempty"` // the request for permission was denied; Answer is the reason
	By     string `json:"by,omitempty"`     // who answered: name of the user, "rule RULE", "grant RULE" or "policy POLICY", or [AnsweredByDeadline]; empty if it was not answered
}

// AnsweredByDeadline is the value of Answered.By for a question that nobody answered in time.
// Older versions of gaffer stored "sweep" instead.
const AnsweredByDeadline = "the deadline"

// QuestionRecord is a question with its answer, if it has one.
type QuestionRecord struct {
	Question
	Answered
	At time.Time `json:"answered,omitzero"` // when it was answered
}

// Outcome says how the question was answered and by whom, such as "allowed by rule Bash(go test:*)".
// It is empty if the question has no answer.
func (q QuestionRecord) Outcome() string {
	if q.At.IsZero() {
		return ""
	}
	allows, _ := Grants(q.Answer)
	text := "answered: " + q.Answer
	switch {
	case q.Tool != "" && allows && !q.Denied:
		text = "allowed"
	case q.Denied || q.Tool != "":
		text = "denied"
	}
	if q.By != "" {
		text += " by " + q.By
	}
	return text
}

// Question is a decision that an agent waits for the user to make. A question that belongs to no
// task has no run, and its Task is the name of the agent that asks.
type Question struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"` // shown in every view and used by 'gaffer answer'; see [QuestionName]
	Run     string    `json:"run"`
	Task    string    `json:"task"`
	Text    string    `json:"text"`
	Options []string  `json:"options,omitempty"`
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires,omitzero"` // when gaffer answers in place of the user: with Default or, if that is empty, with a denial; zero if never
	Default string    `json:"default,omitempty"`

	// Tool is the tool that the agent asks permission for, such as Bash. It is empty for any other
	// question. Suggestions are rules that would allow this request and similar ones, such as
	// "Bash(go test:*)".
	Tool        string   `json:"tool,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"`
}

// GrantScope says for how long an answer that allows or denies a request holds.
type GrantScope string

// The values of GrantScope.
const (
	GrantOnce   GrantScope = "once"   // for this request only
	GrantTask   GrantScope = "task"   // for all attempts of the task
	GrantRun    GrantScope = "run"    // for all tasks of the run
	GrantAlways GrantScope = "always" // for all runs, until it is removed
)

// Grant is a rule that a user has made by answering a question.
type Grant struct {
	ID    string     `json:"id"`
	Rule  string     `json:"rule"`
	Deny  bool       `json:"deny,omitempty"` // the rule denies requests; if false, it allows them
	Scope GrantScope `json:"scope"`
	Run   string     `json:"run,omitempty"`  // empty if Scope is GrantAlways
	Task  string     `json:"task,omitempty"` // set only if Scope is GrantTask
	By    string     `json:"by"`
	Made  time.Time  `json:"made"`
}

// Choose returns the answer that the typed text stands for: the option with this text, the option
// with this number (from 1), or the text itself if it is neither. If no option has the number,
// Choose returns an error: the user has made a typing mistake, and the agent would use the number
// as an answer. A number in double quotes is a text.
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

// NoOptionError reports that a question has no option with the number Number. Options is the number
// of options that it has.
type NoOptionError struct{ Number, Options int }

func (e *NoOptionError) Error() string {
	s := "s"
	if e.Options == 1 {
		s = ""
	}
	return fmt.Sprintf("option %d: the question has %d option%s; a number in double quotes is a text", e.Number, e.Options, s)
}

// Usage reports true: the user's input is wrong.
func (*NoOptionError) Usage() bool { return true }

// QuestionName returns the name that a question has in every list and view, and in 'gaffer answer'.
// For a question of a task it is SHORT-RUN/TASK, such as 4cebc8bf/api. For other questions it is
// the name of the agent that asks. Two questions of one task or agent have the same name; 'gaffer
// answer' answers the older one first.
func QuestionName(run, task string) string {
	if run == "" {
		// If the agent of a task asks through a tool, the agent's name is RUN/TASK: split it.
		var ok bool
		if run, task, ok = strings.Cut(task, "/"); !ok {
			return run
		}
	}
	return ShortRun(run) + "/" + task
}

// ShortRun returns the random part of a run's id, such as 4cebc8bf of
// 20260301-115800-4cebc8bf. It returns an id of another form unchanged.
func ShortRun(id string) string {
	parts := strings.Split(id, "-")
	if len(parts) != 3 || len(parts[0]) != 8 || len(parts[1]) != 6 || parts[2] == "" || strings.Trim(parts[0]+parts[1], "0123456789") != "" {
		return id
	}
	return parts[2]
}

// Lane is an agent account that is paused, or a limit of the user that is reached (see
// [BudgetLane]). The name of an account is that of the agent, or agent/account for one of the user's
// accounts.
type Lane struct {
	Name   string    `json:"name"`
	Until  time.Time `json:"until"` // end of the pause; it may already have passed
	Reason string    `json:"reason,omitempty"`
	Free   bool      `json:"free,omitempty"` // another account of the agent is not paused, so its tasks can start
}

// Agent returns the name of the agent that uses the account. For the account of a fallback with a
// model, the name has the form AGENT:MODEL.
func (l Lane) Agent() string {
	agent, _, _ := strings.Cut(l.Name, "/")
	return agent
}

// BudgetLane is the prefix of the names of lanes that stand for a cost limit of the user: budget:day
// and budget:month. Such a lane is paused while its limit is reached. Its Reason is then a sentence
// for the user, and no agent is started.
const BudgetLane = "budget:"

// Budget reports whether the lane is paused because a limit of the user is reached.
func (l Lane) Budget() bool { return strings.HasPrefix(l.Name, BudgetLane) }

// Add counts one more task with status s.
func (c *Counts) Add(s Status) { c.Count(s, +1) }

// Remove counts one task fewer with status s.
func (c *Counts) Remove(s Status) { c.Count(s, -1) }

// Count adds delta, which may be negative, to the number of tasks with status s and to the total.
func (c *Counts) Count(s Status, delta int) {
	c.Total += delta
	switch s {
	case Queued:
		c.Queued += delta
	case Running:
		c.Running += delta
	case Complete:
		c.Complete += delta
	case Failed:
		c.Failed += delta
	case Cancelled:
		c.Cancelled += delta
	}
}

// Merge returns the runs of both lists. If both lists have a run with the same id, it returns only
// the one in runs. It sorts the runs by the time of their creation, the latest first.
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
