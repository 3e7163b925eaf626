package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gaffer/statefile"
)

// Check checks a plan from another program, which gaffer does not trust. It returns a [Problems]
// with the first problems that it finds, or nil if it finds none. It reads no files.
func (p Plan) Check() error {
	c := planCheck{known: make(map[string]bool, len(p.Tasks))}
	c.plan(p)
	for i := range p.Tasks {
		if c.task(i, &p.Tasks[i]); c.full() {
			return c.problems
		}
	}
	for i := range p.Tasks {
		if c.references(&p.Tasks[i]); c.full() {
			return c.problems
		}
	}
	if len(c.problems) == 0 {
		for _, cycle := range p.Graph().Cycles() {
			c.report(&p.Tasks[0], !c.full(), "the tasks wait for each other: %s", cycle)
		}
	}
	if len(c.problems) == 0 {
		return nil
	}
	return c.problems
}

// planCheck collects the problems of a plan that another program has sent.
type planCheck struct {
	problems Problems
	known    map[string]bool // set of the ids of the plan's tasks
}

// full reports whether enough problems were found to stop the check.
func (c *planCheck) full() bool {
	const most = 20
	return len(c.problems) >= most
}

func (c *planCheck) report(t *Task, wrong bool, format string, args ...any) {
	if wrong {
		c.problems = append(c.problems, Problem{Line: t.Line, Text: fmt.Sprintf(format, args...)})
	}
}

// maxLine is the maximum length of a text that must be one line, in bytes. maxList is the maximum
// number of items in a list.
const (
	maxLine = 1 << 10
	maxList = 1000
)

func (c *planCheck) plan(p Plan) {
	whole := &Task{}
	c.report(whole, len(p.Tasks) == 0, "found no tasks, want one at least")
	c.report(whole, len(p.Tasks) > maxTasks, "found %d tasks, want %d at most", len(p.Tasks), maxTasks)
	c.report(whole, p.Parallel < 0, "parallel: found %d, want 0 or more", p.Parallel)
	c.report(whole, !slices.Contains([]OnFailure{"", Continue, Stop, StopNow}, p.OnFailure), "on_failure: found %.60q, want continue, stop or stop-now", p.OnFailure)
	c.report(whole, !isLine(p.Name) || !isLine(p.Source) || !isLine(p.SourceFile), "name or source: found more than a line of text")
	c.budget(whole, p.Budget)
	if w := p.Workflow; w != nil {
		for _, name := range []string{w.Base, w.Branch, w.OnComplete.MergeTo} {
			c.report(whole, name != "" && !IsBranch(name), "workflow: %.60q is not the name of a git branch", name)
		}
		c.report(whole, w.Branch == "", "workflow: no branch")
	}
}

// isLine reports whether a text is one line and has at most maxLine bytes.
func isLine(text string) bool {
	return len(text) <= maxLine && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func (c *planCheck) task(i int, t *Task) {
	if bad, ok := errors.AsType[*statefile.NameError](statefile.CheckName("task", t.ID)); ok {
		c.report(t, true, "task %d: the id %.60q %s", i+1, t.ID, bad.Problem)
	}
	c.report(t, c.known[t.ID], "two tasks have the id %.60q", t.ID)
	c.known[t.ID] = true
	wrong := func(is bool, format string, args ...any) {
		c.report(t, is, "task %.60q: "+format, append([]any{t.ID}, args...)...)
	}
	wrong(!isLine(t.Name) || !isLine(t.PromptFile), "name or prompt_file: found more than a line of text")
	wrong(!isLine(t.Agent) || !isLine(t.Model) || strings.ContainsAny(t.Agent, "/, "), "agent or model: found more than a name")
	wrong(len(t.Prompt) > maxPrompt, "the prompt has %d bytes, more than the %d it may have", len(t.Prompt), maxPrompt)
	wrong(t.Agent == CommandAgent && len(t.Argv) == 0, "agent command needs command or shell")
	wrong(t.Prompt == "" && len(t.Argv) == 0, "needs a prompt or a command")
	wrong(t.CheckboxFile != "", "box: found a file on another machine, want none")
	wrong(t.Wave < 0 || t.Wave > maxWave, "wave: found %d, want 0 to %d", t.Wave, maxWave)
	wrong(t.Retries < 0 || t.Retries > maxRetries, "retries: found %d, want 0 to %d", t.Retries, maxRetries)
	wrong(t.Priority < -maxPriority || t.Priority > maxPriority, "priority: found %d, want %d to %d", t.Priority, -maxPriority, maxPriority)
	for _, d := range []time.Duration{t.Timeout, t.StallTimeout, t.AnswerTimeout} {
		wrong(d < 0, "found a time of %s, want 0 or more", d)
	}
	wrong(!slices.Contains([]QuestionPolicy{"", Ask, Rules, Deny, Allow}, t.Questions), "questions: found %.60q, want ask, rules, deny or allow", t.Questions)
	if err := t.Permissions.Check(); err != nil {
		wrong(true, "permissions: %v", err)
	}
	wrong(!slices.Contains([]Land{"", LandReview, LandMerge, LandPR, LandKeep}, t.Land), "land: found %.60q, want review, merge, pr or keep", t.Land)
	wrong(t.Sandbox.check() != "", "sandbox: %.200s", t.Sandbox.check())
	for _, branch := range []string{t.Branch, t.Base, t.Into} {
		wrong(branch != "" && !IsBranch(branch), "%.60q is not the name of a git branch", branch)
	}
	wrong(t.SharedWorktree != "" && statefile.CheckName("tree", t.SharedWorktree) != nil, "tree: %.60q cannot be a name", t.SharedWorktree)
	c.lists(t, wrong)
	c.budget(t, t.Budget)
	item := t.Item
	wrong(!isLine(item.Source) || !isLine(item.ID) || !isLine(item.URL) || !isLine(item.Title) || !isLine(item.Report.Label), "item: found more than a line of text")
	wrong((item.Source == "") != (item.ID == ""), "item: found %.60q and %.60q, want a source and an id", item.Source, item.ID)
	wrong(!slices.Contains([]ItemTake{"", TakeNew, TakeAgain}, item.Take), "item: found %.60q, want new or again", item.Take)
}

func (c *planCheck) lists(t *Task, wrong func(is bool, format string, args ...any)) {
	longest := max(len(t.Argv), len(t.Verify), len(t.Env), len(t.Labels), len(t.Files), len(t.Permissions.Allow), len(t.Permissions.Deny), len(t.Permissions.Ask),
		len(t.Sandbox.Hosts), len(t.Sandbox.Write), len(t.Sandbox.Read))
	wrong(longest > maxList, "has a list of %d things, want %d at most", longest, maxList)
	for _, label := range t.Labels {
		wrong(label == "" || !isLine(label) || strings.ContainsAny(label, "@,"), "labels: found %.60q, want words without @ and commas", label)
	}
	wrong(len(t.Fallback) > maxFallbacks, "fallback: found %d, want %d at most", len(t.Fallback), maxFallbacks)
	for _, text := range t.Fallback {
		agent, _ := SplitAgent(text)
		wrong(agent == "" || agent == CommandAgent || !isLine(text) || strings.ContainsAny(agent, "/, "), "fallback: found %.60q, want an agent, and a model after a colon if needed", text)
	}
	for name, v := range t.Env {
		wrong(!variableName().MatchString(name), "env: %.60q is no variable's name, want letters, digits and _", name)
		if err := v.Check(); err != nil {
			wrong(true, "env: %.60s: %v", name, err)
		}
	}
	for _, file := range t.Files {
		problem := checkPattern(file)
		wrong(problem != "", "files: %.60q %s", file, problem)
	}
}

func (c *planCheck) budget(t *Task, b Budget) {
	bad := b.USD < 0 || b.Tokens < 0 || math.IsNaN(b.USD) || b.USD > 1e9
	c.report(t, bad, "budget: found %g USD and %d tokens, want 0 or more", b.USD, b.Tokens)
}

func (c *planCheck) references(t *Task) {
	if t.Pick != nil {
		c.report(t, len(t.Pick.Candidates) == 0, "task %q picks from no candidates", t.ID)
		for _, id := range t.Pick.Candidates {
			c.report(t, !slices.Contains(t.After, id), "task %q does not wait for its candidate %.60q", t.ID, id)
		}
	}
	c.report(t, t.Candidate != "" && !c.known[t.Candidate], "no task has the id %.60q, whose candidate %q is", t.Candidate, t.ID)
	seen := make(map[string]bool, len(t.After))
	for _, id := range t.After {
		switch {
		case c.full():
			return
		case id == t.ID:
			c.report(t, true, "task %q waits for itself", id)
		case !c.known[id]:
			c.report(t, true, "no task has the id %.60q, which %q waits for", id, t.ID)
		default:
			c.report(t, seen[id], "task %q waits for %q twice", t.ID, id)
		}
		seen[id] = true
	}
}

// OneMachineReason says why all tasks of the plan must run on the same machine: it returns the part
// of the plan that requires it, for example "the worktree of task api". It returns "" if the tasks
// can run on several machines.
func (p Plan) OneMachineReason() string {
	what := ""
	if p.Workflow != nil {
		what = "a workflow"
	}
	for _, t := range p.Tasks {
		switch {
		case what != "":
			return what
		case t.Dispatch != nil:
			what = fmt.Sprintf("bead %s", t.Dispatch.Bead)
		case t.HasWorktree():
			what = fmt.Sprintf("the worktree of task %s", cmp.Or(t.ID, t.Name))
		}
	}
	return what
}
