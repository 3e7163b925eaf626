// Package fleet defines the types that describe runs to users and to other programs: runs, tasks,
// attempts, questions and lanes. A lane is a paused agent account, or a cost limit of the user that
// is reached. The '--json' output of commands and all user interfaces use these types.
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

// Final reports whether a run, task or attempt with the status s has ended. The status of a run or
// task changes again only if the work is continued, for example by a retry.
func (s Status) Final() bool { return s == Complete || s == Failed || s == Cancelled }

// Run is one submitted plan.
type Run struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Status     Status    `json:"status"`
	Project    string    `json:"project,omitempty"`
	SourceFile string    `json:"source_file,omitempty"`
	StartedBy  string    `json:"started_by,omitempty"` // "schedule NAME", or "source NAME" (such as an issue tracker); empty if a user started it
	Team       string    `json:"team,omitempty"`       // id of the team's session, if a team of agents executes the run
	Parallel   int       `json:"parallel,omitempty"`
	Stopping   string    `json:"stopping,omitempty"` // why no further task of the run starts; empty if tasks may start
	Counts     Counts    `json:"counts"`
	Spent      Cost      `json:"spent"`
	Budget     Cost      `json:"budget,omitzero"`
	WorkedMS   int64     `json:"worked_ms,omitempty"` // working time of all ended attempts, without time spent waiting
	WaitedMS   int64     `json:"waited_ms,omitempty"` // how long all ended attempts waited for the user
	Created    time.Time `json:"created"`
	Ended      time.Time `json:"ended,omitzero"`
	Owner      Owner     `json:"owner,omitzero"`      // the gaffer process that works on the run
	Documents  string    `json:"documents,omitempty"` // path of the folder with the run's status.json and logs
	Tasks      []Task    `json:"tasks"`               // in the order of the plan
	Lanes      []Lane    `json:"lanes,omitempty"`     // paused agent accounts, and reached cost limits of the user
}

// Paused returns the lanes (paused agent accounts and reached cost limits of the user) that prevent
// unfinished tasks of the run from starting at the time now. A reached cost limit prevents all
// tasks. Paused accounts prevent a task only if all accounts of its agent and of its fallback
// agents are paused.
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
// If r was read without its tasks, SpentNow returns r.Spent, which excludes running attempts.
func (r Run) SpentNow() Cost {
	spent := r.Spent
	for _, t := range r.Tasks {
		if a := t.Attempt; a != nil && a.Status == Running {
			spent.USD, spent.Tokens = spent.USD+a.Spent.USD, spent.Tokens+a.Spent.Tokens
		}
	}
	return spent
}

// Share returns c as a fraction of a limit; 1 means all of the limit. If both money and tokens are
// limited, Share returns the larger fraction. If neither is limited, it returns 0.
func (c Cost) Share(limit Cost) (share float64) {
	if limit.USD > 0 {
		share = c.USD / limit.USD
	}
	if limit.Tokens > 0 {
		share = max(share, float64(c.Tokens)/float64(limit.Tokens))
	}
	return share
}

// Owner describes the gaffer process that works on a run. Alive reports whether that process is
// running on this machine.
type Owner struct {
	PID   int  `json:"pid,omitempty"`
	Alive bool `json:"alive,omitempty"`
	// Gone reports that the run has not ended but no process works on it. Only the machine that
	// worked on the run can know this. On other machines, Alive and Gone are both false.
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
	Fallback []string  `json:"fallback,omitempty"`  // agents (AGENT or AGENT:MODEL) to use while the task's own agent is rate limited
	Tries    int       `json:"tries"`               // number of attempts so far
	Retries  int       `json:"retries"`             // maximum number of retries after failed attempts
	Outcome  string    `json:"outcome,omitempty"`   // why the task or its last attempt failed or was cancelled, such as timeout
	RetryAt  time.Time `json:"retry_at,omitzero"`   // when the next attempt may start; zero means at once
	Spent    Cost      `json:"spent,omitzero"`      // cost of all ended attempts
	Budget   Cost      `json:"budget,omitzero"`     // what all attempts may cost together; zero means no limit
	WorkedMS int64     `json:"worked_ms,omitempty"` // working time of all ended attempts
	// NoWorker is the reason why no online worker of a server can take the task, although it is
	// ready to start. It is empty if a worker can take it, or if the task does not wait for such
	// workers.
	NoWorker string `json:"no_worker,omitempty"`
	Worktree string `json:"worktree,omitempty"`
	Branch   string `json:"branch,omitempty"`
	// Several agents can work on the same task in competition. The task of each agent is called a
	// candidate, and another task chooses one of the candidates. Candidates is set only for the
	// task that chooses, and has the ids of the candidates. Candidate is the id of the task that
	// chooses. It is set only for a candidate, and for the task of an agent that judges the
	// candidates.
	Candidate  string    `json:"candidate_of,omitempty"`
	Candidates []string  `json:"candidates,omitempty"`
	Fork       *Fork     `json:"forked_from,omitempty"` // the task whose conversation this task continues; nil if none
	Session    string    `json:"session,omitempty"`     // name of the tmux session that shows the agent; empty if none
	Prompt     string    `json:"prompt,omitempty"`      // servers leave it out unless a single task is requested
	Attempt    *Attempt  `json:"attempt,omitempty"`     // the running attempt; if none is running, the last one
	Question   *Question `json:"question,omitempty"`
}

// AgentOf returns the name of the agent that works on an attempt at the task: the fallback agent if
// the attempt uses one, or else the task's own agent.
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
	// Account is the user's account that the agent uses. It is empty if the agent uses the account
	// that its program is logged in to. Fallback is the agent that replaces the task's own agent in
	// this attempt, as AGENT or AGENT:MODEL. It is empty if the task's own agent is used.
	Account  string `json:"account,omitempty"`
	Fallback string `json:"fallback,omitempty"`
	Class    string `json:"class,omitempty"`   // failure class, such as timeout; empty if the attempt did not fail
	Summary  string `json:"summary,omitempty"` // the agent's last message, or what went wrong
	Exit     int    `json:"exit"`
	Process
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Spent   Cost      `json:"spent,omitzero"`
	Context Context   `json:"context,omitzero"`
	// WaitedMS is how long the agent has waited for the user, in all waits that have ended.
	// WaitingSince is when the current wait began, and zero if the agent does not wait now. All
	// other time of the attempt counts as working time.
	WorkedMS     int64     `json:"worked_ms,omitempty"` // set only if the attempt has ended
	WaitedMS     int64     `json:"waited_ms,omitempty"`
	WaitingSince time.Time `json:"waiting_since,omitzero"`

	Checks []Check  `json:"checks,omitempty"`
	Denied []string `json:"denied,omitempty"` // actions that the agent was not allowed to do
	Diff   *Diff    `json:"diff,omitempty"`   // nil while the attempt is running, and if it has no worktree

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
	Attempt int  // number of the attempt whose output to return; 0 means all
	Tail    int  // number of last lines to return; a negative number means all lines
	Follow  bool // also return new output, until the task or the attempt has ended
}

// Check is a verify command, which checks the work of an agent, and its result.
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

// FileDiff is one changed file. Added and Removed count lines, and are 0 if the file is not text.
type FileDiff struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// MostFiles is the maximum number of files that a [Diff] lists.
const MostFiles = 200

// Ask is a question that an agent asks through gaffer's MCP server or through a hook. An
// agent that the user has started by hand can ask in this way too.
type Ask struct {
	From    string // name of the agent that asks; 'gaffer answer' takes this name
	Ref     string // idempotency key: a second Ask with the same Ref is the same question
	Text    string
	Options []string
	Within  time.Duration // how long the agent waits for the answer
	Attempt string        // id of the agent's attempt; empty if it works on no task
}

// Answered says whether and how a question was answered.
type Answered struct {
	Closed bool   `json:"closed,omitempty"` // the question was answered, or the agent no longer waits for an answer
	Answer string `json:"answer,omitempty"`
	Denied bool   `json:"denied,omitempty"` // the request for permission was denied; Answer is the reason
	// By says who answered: the name of a user, "rule RULE" for a permission rule of the task,
	// "grant RULE" for a [Grant], "policy POLICY" for the policy of the task, or
	// [AnsweredByDeadline]. It is empty if the question was not answered.
	By string `json:"by,omitempty"`
}

// AnsweredByDeadline is the value of Answered.By for a question that was answered automatically,
// because nobody answered it in time. Older versions of gaffer stored "sweep" instead.
const AnsweredByDeadline = "the deadline"

// QuestionRecord is a question together with its answer, if it was answered.
type QuestionRecord struct {
	Question
	Answered
	At time.Time `json:"answered,omitzero"` // when the question was answered; zero if it was not
}

// Outcome returns a text that says how the question was answered and by whom, such as "allowed by
// rule Bash(go test:*)". The text is empty if the question was not answered.
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

// Question is a decision that an agent waits for the user to make. If the question does not belong
// to a task, Run is empty, and Task is the name of the agent that asks.
type Question struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"` // the name by which users know the question; see [QuestionName]
	Run     string    `json:"run"`
	Task    string    `json:"task"`
	Text    string    `json:"text"`
	Options []string  `json:"options,omitempty"`
	Asked   time.Time `json:"asked"`
	// Expires is the time at which gaffer answers in place of the user: with Default or, if that is
	// empty, with a denial. Zero means that the question does not expire.
	Expires time.Time `json:"expires,omitzero"`
	Default string    `json:"default,omitempty"`

	// Tool is the tool that the agent asks permission for, such as Bash. It is empty if the
	// question is not a request for permission. Suggestions are rules that would allow this request
	// and similar requests, such as "Bash(go test:*)".
	Tool        string   `json:"tool,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"`
}

// GrantScope says for which requests the user's answer to a request for permission holds: only for
// this request, or also for certain later requests.
type GrantScope string

// The values of GrantScope.
const (
	GrantOnce   GrantScope = "once"   // for this request only
	GrantTask   GrantScope = "task"   // for all attempts of the task
	GrantRun    GrantScope = "run"    // for all tasks of the run
	GrantAlways GrantScope = "always" // for all runs, until the user removes the rule
)

// Grant is a rule that a user has made by answering a request for permission. The rule allows or
// denies later requests.
type Grant struct {
	ID    string     `json:"id"`
	Rule  string     `json:"rule"`
	Deny  bool       `json:"deny,omitempty"` // the rule denies requests; if false, it allows them
	Scope GrantScope `json:"scope"`
	Run   string     `json:"run,omitempty"`  // id of the run; empty if Scope is GrantAlways
	Task  string     `json:"task,omitempty"` // id of the task; set only if Scope is GrantTask
	By    string     `json:"by"`
	Made  time.Time  `json:"made"`
}

// Choose converts the text that a user has typed into an answer:
//   - A number in double quotes is itself the answer, without the quotes.
//   - The text of an option, and any text that is not a number, is itself the answer.
//   - If the question has no options, a number is itself the answer too.
//   - Any other number selects the option with that number, counted from 1.
//
// If no option has the number, Choose returns a [*NoOptionError], because the user has probably
// made a typing mistake.
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

// NoOptionError reports that a question has no option with the number Number. Options is how many
// options the question has.
type NoOptionError struct{ Number, Options int }

func (e *NoOptionError) Error() string {
	s := "s"
	if e.Options == 1 {
		s = ""
	}
	return fmt.Sprintf("option %d: the question has %d option%s; a number in double quotes is a text", e.Number, e.Options, s)
}

// Usage returns true, so that commands exit with code 2: wrong usage.
func (*NoOptionError) Usage() bool { return true }

// QuestionName returns the name by which users know a question, for example in 'gaffer answer'. For
// a question of a task, the name is SHORT-RUN/TASK, such as 4cebc8bf/api. For a question of an
// agent without a task, the parameter run is empty, and task is the agent's name, which is also the
// name of the question. Two open questions of one task or agent have the same name. The command
// 'gaffer answer' answers the older one first.
func QuestionName(run, task string) string {
	if run == "" {
		// If an agent of a task has asked through gaffer's MCP server, run is empty and task has
		// the form RUN/TASK.
		var ok bool
		if run, task, ok = strings.Cut(task, "/"); !ok {
			return run
		}
	}
	return ShortRun(run) + "/" + task
}

// ShortRun returns the last part of a run's id, which is random, such as 4cebc8bf of
// 20260301-115800-4cebc8bf. It returns an id of a different form unchanged.
func ShortRun(id string) string {
	parts := strings.Split(id, "-")
	if len(parts) != 3 || len(parts[0]) != 8 || len(parts[1]) != 6 || parts[2] == "" || strings.Trim(parts[0]+parts[1], "0123456789") != "" {
		return id
	}
	return parts[2]
}

// Lane is a paused agent account, or a cost limit of the user that is reached (see [BudgetLane]).
// The Name of an agent account is AGENT/ACCOUNT, or only AGENT for the account that the agent
// program is logged in to.
type Lane struct {
	Name   string    `json:"name"`
	Until  time.Time `json:"until"` // end of the pause; it may already have passed
	Reason string    `json:"reason,omitempty"`
	Free   bool      `json:"free,omitempty"` // the agent has another account that is not paused, so its tasks can start
}

// Agent returns the name of the agent whose account is paused. For a fallback agent with a model,
// the name has the form AGENT:MODEL.
func (l Lane) Agent() string {
	agent, _, _ := strings.Cut(l.Name, "/")
	return agent
}

// BudgetLane is the prefix of Lane.Name if the lane is not a paused agent account but a reached
// cost limit of the user. The name is then budget:day or budget:month. While the limit is reached,
// no agent is started, and Lane.Reason is a sentence that explains this to the user.
const BudgetLane = "budget:"

// Budget reports whether the lane is a reached cost limit of the user, and not a paused agent
// account.
func (l Lane) Budget() bool { return strings.HasPrefix(l.Name, BudgetLane) }

// Add adds one to the number of tasks with status s and to the total.
func (c *Counts) Add(s Status) { c.Count(s, +1) }

// Remove subtracts one from the number of tasks with status s and from the total.
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

// Merge returns the runs of both lists, sorted by the time of their creation, the latest first. If
// both lists contain a run with the same id, Merge returns the one from the parameter runs.
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
