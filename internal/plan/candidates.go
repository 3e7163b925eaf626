package plan

import (
	"fmt"
	"slices"
	"strings"
)

// PickAgent is the name of the agent in a task that picks one of several candidates. Candidates are
// agents that do the same task. gaffer itself does the picking task, without an agent program.
const PickAgent = "gaffer-pick"

// PickBy says who picks one of the results if several agents do the same task.
type PickBy string

// The values of PickBy.
const (
	PickUser   PickBy = "user"
	PickChecks PickBy = "checks" // gaffer picks the best by checks, changed lines and cost
	PickJudge  PickBy = "judge"  // another agent compares the results and picks one
)

// CandidateKeys holds the settings of a task that several agents do, so that one of their results
// can be picked. They exist only until [Plan.ExpandCandidates] replaces the task by one task for
// each agent and further tasks.
type CandidateKeys struct {
	Candidates []string `json:"-"` // the agents, each as AGENT or AGENT:MODEL
	PickBy     PickBy   `json:"-"`
	JudgeAgent string   `json:"-"` // the agent that judges the results, as AGENT or AGENT:MODEL
	Rubric     string   `json:"-"` // what the judge must look at when it compares the results
}

// Pick describes the candidates: several agents that do the same task. It is set in two kinds of
// tasks: the task that picks one candidate, and the task in which another agent, the judge,
// compares their results.
type Pick struct {
	By         PickBy   `json:"By"`
	Candidates []string `json:"Candidates"`      // ids of the tasks of the candidates
	JudgeTask  string   `json:"Judge,omitzero"`  // id of the task that judges the candidates; empty if there is no judge
	IsJudge    bool     `json:"Judges,omitzero"` // true for the task of the judge, false for the task that picks one candidate
	Goal       string   `json:"Goal,omitzero"`   // the candidates' prompt, which the judge needs
	Rubric     string   `json:"Rubric,omitzero"` // what the judge must look at when it compares the results
}

const (
	maxCandidates       = 16  // maximum number of candidates for one task
	maxIDWithCandidates = 150 // maximum length of the id of a task with candidates, in bytes
)

// SplitAgent splits a text such as "claude:opus" into agent and model. If the text has no colon,
// model is empty.
func SplitAgent(text string) (agent, model string) {
	agent, model, _ = strings.Cut(strings.TrimSpace(text), ":")
	return agent, model
}

// ExpandCandidates replaces each task that has candidates by several tasks: one for each candidate,
// with its own worktree; one for the judge, if a judge picks; and one with the original id that
// picks a result. A task that waits for the original id starts from the picked result.
func (p Plan) ExpandCandidates() Plan {
	taken := make(map[string]bool, len(p.Tasks))
	for _, t := range p.Tasks {
		taken[t.ID] = true
	}
	free := func(want string) string {
		id := want
		for n := 2; taken[id]; n++ {
			id = fmt.Sprintf("%s-%d", want, n)
		}
		taken[id] = true
		return id
	}
	var tasks []Task
	for _, t := range p.Tasks {
		if len(t.Candidates) == 0 {
			tasks = append(tasks, t)
			continue
		}
		pick := Task{
			ID: t.ID, Name: t.Name, Agent: PickAgent, Wave: t.Wave, Verify: t.Verify, Isolation: t.Isolation, Env: t.Env,
			Labels: t.Labels, Priority: t.Priority, FileEntry: t.FileEntry, KeepMessage: true, Item: t.Item,
			// When all candidates have ended, the engine replaces this prompt by their results.
			Prompt: "pick a candidate", Pick: &Pick{By: t.PickBy},
			QuestionRules: QuestionRules{Questions: Ask},
		}
		if pick.Pick.By == "" {
			pick.Pick.By = PickUser
		}
		pick.Worktree = true
		for _, text := range t.Candidates {
			one := t
			one.CandidateKeys, one.FileEntry = CandidateKeys{}, FileEntry{Line: t.Line}
			one.Agent, one.Model = SplitAgent(text)
			one.ID = free(t.ID + "." + candidateSuffix(one.Agent, one.Model))
			one.Name = t.Name + ", by " + strings.TrimSpace(one.Agent+" "+one.Model)
			// LandKeep means: do not merge the candidate's work. Only the picked work is merged.
			one.Worktree, one.Branch, one.Land, one.Candidate = true, "", LandKeep, t.ID
			pick.Pick.Candidates = append(pick.Pick.Candidates, one.ID)
			tasks = append(tasks, one)
		}
		pick.After = slices.Clone(pick.Pick.Candidates)
		if pick.Pick.By == PickJudge {
			judge := Task{
				ID: free(t.ID + ".judge"), Name: "Judge the candidates of " + t.ID, Prompt: t.Prompt, Wave: t.Wave, After: slices.Clone(pick.After),
				Limits: t.Limits, Env: t.Env, Labels: t.Labels, Priority: t.Priority, QuestionRules: t.QuestionRules, KeepMessage: true, Candidate: t.ID,
				Isolation: Isolation{Worktree: true, Land: LandKeep},
				Pick:      &Pick{By: PickJudge, Candidates: pick.Pick.Candidates, IsJudge: true, Goal: t.Prompt, Rubric: t.Rubric},
			}
			judge.Agent, judge.Model = SplitAgent(t.JudgeAgent)
			pick.Pick.JudgeTask, pick.After = judge.ID, append(pick.After, judge.ID)
			tasks = append(tasks, judge)
		}
		tasks = append(tasks, pick)
	}
	p.Tasks = tasks
	return p
}

// CollapseCandidates is the inverse of [Plan.ExpandCandidates]. It replaces the tasks of candidates
// and judges, and the tasks that pick a result, by the original tasks. It returns an
// [*UnwritableError] if a task that picks names no candidates, or if its first candidate is not in
// the plan.
func (p Plan) CollapseCandidates() (Plan, error) {
	byID := make(map[string]Task, len(p.Tasks))
	for _, t := range p.Tasks {
		byID[t.ID] = t
	}
	var tasks []Task
	for _, pick := range p.Tasks {
		switch {
		case pick.Candidate != "":
			continue // skip: a candidate or judge is handled with the task that picks
		case pick.Pick == nil:
			tasks = append(tasks, pick)
			continue
		case len(pick.Pick.Candidates) == 0:
			return p, &UnwritableError{fmt.Sprintf("task %s, which picks from no candidates", pick.ID)}
		}
		t, ok := byID[pick.Pick.Candidates[0]]
		if !ok {
			return p, &UnwritableError{fmt.Sprintf("task %s without its candidates", pick.ID)}
		}
		t.ID, t.Name, t.Isolation, t.FileEntry, t.Candidate, t.Agent, t.Model = pick.ID, pick.Name, pick.Isolation, pick.FileEntry, "", "", ""
		for _, id := range pick.Pick.Candidates {
			t.Candidates = append(t.Candidates, joinAgent(byID[id].Agent, byID[id].Model))
		}
		t.PickBy = pick.Pick.By
		if judge, ok := byID[pick.Pick.JudgeTask]; ok && judge.Pick != nil {
			t.JudgeAgent, t.Rubric = joinAgent(judge.Agent, judge.Model), judge.Pick.Rubric
		}
		tasks = append(tasks, t)
	}
	p.Tasks = tasks
	return p, nil
}

// joinAgent is the inverse of SplitAgent: it joins an agent and a model to a text such as
// "claude:opus".
func joinAgent(agent, model string) string {
	if model == "" {
		return agent
	}
	return agent + ":" + model
}

// candidateSuffix returns the end of the id of a candidate's task, for example "claude-opus" for
// the agent claude and the model opus. The id begins with the id of the original task.
// candidateSuffix replaces all characters except ASCII letters, digits, "_" and "." by hyphens, and
// shortens the result to 40 bytes.
func candidateSuffix(agent, model string) string {
	name := agent
	if model != "" {
		name += "-" + model
	}
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' {
			return c
		}
		return '-'
	}, name)
	return name[:min(len(name), 40)]
}

// candidateKeys returns the keys that only tasks with candidates may have.
func candidateKeys() []keySpec[Task] {
	return []keySpec[Task]{
		newKey("candidates", textOrList(), func(t *Task) *[]string { return &t.Candidates },
			"the agents that all do the task, each in a worktree of its own, as AGENT or AGENT:MODEL; one result is picked", "candidates: [claude, codex, claude:opus]"),
		newKey("pick", choice(PickUser, PickChecks, PickJudge), func(t *Task) *PickBy { return &t.PickBy },
			"who picks one of the candidates: user (as without it), checks (the best by checks, changed lines and cost) or judge (an agent)", "candidates: [claude, codex]\npick: checks"),
		newKey("judge", text(), func(t *Task) *string { return &t.JudgeAgent },
			"the agent that judges with pick: judge, as AGENT or AGENT:MODEL; the task's agent if absent", "candidates: [claude, codex]\npick: judge\njudge: claude:opus"),
		newKey("rubric", text(), func(t *Task) *string { return &t.Rubric },
			"what the judge looks at", "candidates: [claude, codex]\npick: judge\nrubric: The smallest change that handles every error."),
	}
}

// checkCandidates reports problems with the keys for candidates. If a task with candidates names no
// judge, checkCandidates sets JudgeAgent to the task's agent.
func checkCandidates(r *reporter, t *Task, given map[string]pair) {
	at := func(key string) position { return given[key].value.withPosition(given[key].at).position }
	agents := append(Agents(), r.agents...)
	known := func(key, text string) {
		if agent, _ := SplitAgent(text); !slices.Contains(agents, agent) || agent == CommandAgent {
			r.report(at(key), "%s: found %s, want %s, and a model after a colon if needed", key, quoted(text), orList(slices.DeleteFunc(slices.Clone(agents), func(a string) bool { return a == CommandAgent })))
		}
	}
	if _, ok := given["candidates"]; !ok {
		for _, key := range []string{"pick", "judge", "rubric"} {
			if p, ok := given[key]; ok {
				r.report(p.at, "%s needs candidates, the agents that do the task", key)
			}
		}
		return
	}
	switch {
	case len(t.Candidates) < 2 || len(t.Candidates) > maxCandidates:
		r.report(at("candidates"), "candidates: found %d, want 2 to %d agents", len(t.Candidates), maxCandidates)
	case len(t.Argv) > 0:
		r.report(at("candidates"), "candidates: a command has none, want a task with a prompt")
	}
	for _, text := range t.Candidates {
		known("candidates", text)
	}
	if p, ok := given["agent"]; ok && t.PickBy != PickJudge {
		r.report(p.at, "agent and candidates exclude each other, want one of them")
	}
	for _, key := range []string{"judge", "rubric"} {
		if p, ok := given[key]; ok && t.PickBy != PickJudge {
			r.report(p.at, "%s needs pick: judge", key)
		}
	}
	if t.JudgeAgent != "" {
		known("judge", t.JudgeAgent)
	} else if t.JudgeAgent = t.Agent; t.Model != "" && t.Agent != "" {
		t.JudgeAgent += ":" + t.Model
	}
	if len(t.ID) > maxIDWithCandidates {
		r.report(at("id"), "id: the id %.60q has %d bytes, more than the %d of a task with candidates, whose ids begin with it", t.ID, len(t.ID), maxIDWithCandidates)
	}
}
