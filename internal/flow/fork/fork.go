// Package fork creates a task that continues another task. The new task starts with a copy of the
// conversation and of the files, as they were after one of the turns of the conversation. A turn is
// a message to the agent together with the agent's answer. If the agent program cannot copy the
// conversation, the new task gets a summary of it. The original task does not change. The package
// is pure, except that it reads logs.
package fork

import (
	"cmp"
	"fmt"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine"
	"gaffer/internal/plan"
	"gaffer/internal/text/truncate"
)

// Source is the task that is forked.
type Source struct {
	Run      string
	Task     plan.Task
	Worker   string    // name of the worker that has the conversation; empty if unknown
	Attempts []Attempt // all ended attempts of the task, oldest first
	// Log returns the log of an attempt.
	Log func(number int) ([]byte, error)
}

// Attempt describes an ended attempt of the task that is forked.
type Attempt struct {
	Number  int
	Thread  string       // id of the conversation
	Account string       // name of the user's account for the agent; empty for the account that the agent's program is logged in to
	Used    fleet.Amount // cost of the conversation up to the end of this attempt
}

// turn is a turn of the conversation. point is the id that the agent program has given to the end
// of the turn. If the log has no such id, point is empty. Then the conversation can be copied only
// as a whole, not only up to this turn.
type turn struct {
	fleet.Turn
	point string
}

// conversation is the conversation of a task's last attempt.
type conversation struct {
	thread  string
	account string
	used    fleet.Amount
	copies  agent.Copies
	turns   []turn
	last    int // number of the task's last attempt
}

// Turns returns the turns of the conversation of the task's last attempt, oldest first.
func Turns(s Source) ([]fleet.Turn, error) {
	c, err := read(s)
	list := []fleet.Turn{}
	for _, t := range c.turns {
		list = append(list, t.Turn)
	}
	return list, err
}

// read reads the conversation of the task's last attempt from the logs of all attempts that belong
// to this conversation. It returns an [*Error] if no attempt has ended.
func read(s Source) (c conversation, err error) {
	if len(s.Attempts) == 0 {
		return c, &Error{Text: fmt.Sprintf("no attempt of task %s has ended", s.Task.ID), Next: "fork it when it has ended"}
	}
	last := s.Attempts[len(s.Attempts)-1]
	c.thread, c.account, c.used, c.last = last.Thread, last.Account, last.Used, last.Number
	first := len(s.Attempts) - 1
	for first > 0 && last.Thread != "" && s.Attempts[first-1].Thread == last.Thread {
		first--
	}
	for _, a := range s.Attempts[first:] {
		log, err := s.Log(a.Number)
		if err != nil {
			return c, err
		}
		turns, copies := agent.Turns(log)
		c.copies = max(c.copies, copies)
		for i, t := range turns {
			c.turns = append(c.turns, turn{fleet.Turn{
				Number: len(c.turns) + 1, Attempt: a.Number, Last: i == len(turns)-1,
				Text: truncate.Bytes(t.Text, maxText), Answer: truncate.Bytes(t.Answer, maxText),
			}, t.Point})
		}
	}
	return c, nil
}

// maxText is the maximum length in bytes of one message of a conversation; longer messages are cut.
// Once the messages in a summary of a conversation have more than maxSummary bytes in total, the
// summary leaves out the later turns.
const (
	maxText    = 4000
	maxSummary = 40_000
)

// continues is the first new message in the conversation of the new task, if the user has not
// written one.
const continues = "Continue."

// Plan returns the plan of a run with one task that forks the task s.Task: it continues the
// conversation and the files of s.Task. The caller submits the plan, and then sets ForkResult.Run
// to the id of the new run. Plan returns an [*Error] if the task cannot be forked.
func Plan(s Source, r fleet.ForkRequest) (plan.Plan, fleet.ForkResult, error) {
	t := s.Task
	if err := check(s, r); err != nil {
		return plan.Plan{}, fleet.ForkResult{}, err
	}
	c, err := read(s)
	if err != nil {
		return plan.Plan{}, fleet.ForkResult{}, err
	}
	at := cmp.Or(r.At, len(c.turns))
	if r.At > len(c.turns) {
		return plan.Plan{}, fleet.ForkResult{}, &Error{
			Text: fmt.Sprintf("turn %d: the conversation of task %s has %d", r.At, t.ID, len(c.turns)), Next: fmt.Sprintf("'gaffer fork %s --turns' lists them", t.ID),
		}
	}
	f := plan.Fork{Run: s.Run, Task: t.ID, Attempt: c.last, Turn: at, Prompt: cmp.Or(r.Prompt, continues)}
	var notes []string
	whole := at == len(c.turns)
	if !whole {
		f.Attempt = c.turns[at-1].Attempt
		if !c.turns[at-1].Last { // gaffer keeps an attempt's files only as they are after its last turn
			f.Attempt = earlier(s.Attempts, f.Attempt)
			if t.HasWorktree() {
				notes = append(notes, filesNote(at, f.Attempt))
			}
		}
	}
	same := r.Agent == "" || r.Agent == engine.AgentOf(t)
	switch point := ""; {
	case !same:
		notes = append(notes, fmt.Sprintf("%s cannot continue a conversation of %s: a new conversation starts, with a summary of the earlier one", r.Agent, engine.AgentOf(t)))
	case c.thread == "" || c.copies == agent.CopiesNone:
		notes = append(notes, fmt.Sprintf("%s cannot copy conversations: a new one starts, with a summary of the earlier one", engine.AgentOf(t)))
	default:
		if !whole {
			point = c.turns[at-1].point
		}
		if !whole && (point == "" || c.copies != agent.CopiesParts) {
			notes = append(notes, fmt.Sprintf("the conversation can be copied only as a whole, and not up to turn %d: a new one starts, with a summary of the earlier one", at))
			break
		}
		f.Thread, f.Account, f.Point = c.thread, c.account, point
		f.Input, f.Output, f.Cached = c.used.Tokens-c.used.Output, c.used.Output, c.used.Cached
	}
	if !t.HasWorktree() {
		notes = append(notes, "the task has no worktree of its own: the new task works in the same folder, with the files as they are now")
	}
	result := fleet.ForkResult{Task: t.ID, From: fleet.Fork{Run: f.Run, Task: f.Task, Attempt: f.Attempt, Turn: f.Turn, Copied: f.Thread != ""}, Notes: notes}
	return plan.Plan{Name: "fork of " + t.ID, Format: plan.PromptText, Source: plan.SourceRunPrompt, Tasks: []plan.Task{forked(t, r, f, c.turns[:at])}}, result, nil
}

// earlier returns the number of the attempt that came directly before the attempt with this number,
// or 0 if there is none.
func earlier(attempts []Attempt, number int) (found int) {
	for _, a := range attempts {
		if a.Number < number {
			found = a.Number
		}
	}
	return found
}

func filesNote(turn, attempt int) string {
	if attempt == 0 {
		return fmt.Sprintf("no files were kept at turn %d: the new task starts with the files that the task started with", turn)
	}
	return fmt.Sprintf("no files were kept at turn %d: the new task starts with those at the end of attempt %d", turn, attempt)
}

// check returns an error if a task cannot be forked.
func check(s Source, r fleet.ForkRequest) error {
	t := s.Task
	switch {
	case r.At < 0:
		return &Error{Text: fmt.Sprintf("turn %d: turns are counted from 1", r.At)}
	case engine.AgentOf(t) == plan.CommandAgent && (r.Agent == "" || r.Agent == plan.CommandAgent), r.Agent == plan.CommandAgent:
		return &Error{Text: fmt.Sprintf("task %s runs a command, which has no conversation", t.ID), Next: "'gaffer retry' runs it again"}
	case strings.HasPrefix(t.Agent, "gaffer-"):
		return &Error{Text: fmt.Sprintf("task %s has no agent: gaffer does it", t.ID)}
	case t.Dispatch != nil:
		return &Error{Text: fmt.Sprintf("task %s does a bead, and a bead has one task at a time", t.ID), Next: "'gaffer dispatch' gives it to another agent"}
	case len(t.Step) > 0 || t.SharedWorktree != "":
		return &Error{Text: fmt.Sprintf("task %s is a part of a team, a build or a workflow, and shares its worktree", t.ID)}
	}
	return nil
}

// forked returns the new task, which continues the original task t. It keeps the limits, checks and
// permissions of t, and depends on no other task. Normally the user must review the change that the
// new task makes. But if t has [plan.LandKeep], the change stays on the new task's branch without a
// review.
func forked(t plan.Task, r fleet.ForkRequest, f plan.Fork, turns []turn) plan.Task {
	t.Fork = &f
	t.Prompt, t.PromptFile = summary(t.Prompt, turns, f.Prompt), ""
	t.After, t.Wave, t.Candidate, t.Pick, t.CandidateKeys = nil, 0, "", nil, plan.CandidateKeys{}
	t.Branch, t.Base, t.FileEntry = "", "", plan.FileEntry{}
	if t.Land != plan.LandKeep {
		t.Land = plan.LandReview
	}
	if r.Agent != "" && r.Agent != t.Agent {
		t.Agent, t.Model, t.Fallback = r.Agent, "", nil
	}
	if r.Model != "" {
		t.Model = r.Model
	}
	return t
}

// summary returns a prompt for an agent that does not know the conversation: the task, what was
// said, and the next message of the user.
func summary(prompt string, turns []turn, next string) string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(prompt, "\n"))
	b.WriteString("\n\n---\nThis was worked on before, in another conversation. Your files have the state that it left. What was said:\n")
	for i, t := range turns {
		if b.Len() > len(prompt)+maxSummary {
			fmt.Fprintf(&b, "\n(%d more turns are left out)\n", len(turns)-i)
			break
		}
		if i > 0 && t.Text != "" {
			fmt.Fprintf(&b, "\nUser: %s\n", t.Text)
		}
		if t.Answer != "" {
			fmt.Fprintf(&b, "\nAgent: %s\n", t.Answer)
		}
	}
	fmt.Fprintf(&b, "\n---\n%s\n", next)
	return b.String()
}

// Error says why a task cannot be forked.
type Error struct{ Text, Next string }

func (e *Error) Error() string { return e.Text }

// Hint returns what the user can do next.
func (e *Error) Hint() string { return e.Next }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (*Error) Conflict() bool { return true }
