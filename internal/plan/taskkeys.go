package plan

import (
	"strings"
	"time"

	"gaffer/internal/plan/secret"
)

// taskKeys returns the keys of a task in gaffer's own format.
func taskKeys() []keySpec[Task] {
	own := []keySpec[Task]{
		newKey("id", text(), func(t *Task) *string { return &t.ID },
			"what other tasks, logs and branches call it; unique, and fit for a file's name", "id: api").require(),
		newKey("name", text(), func(t *Task) *string { return &t.Name },
			"its name for users; the id if absent", "name: Build the API"),
		newKey("prompt", text(), func(t *Task) *string { return &t.Prompt },
			"the instructions for the agent", "prompt: |\n  Add GET /health.\n  Cover it with a test."),
		newKey("prompt_file", text(), func(t *Task) *string { return &t.PromptFile },
			"the file with the prompt, from the plan's folder, instead of prompt", "prompt_file: prompts/api.md"),
		newKey("command", textList(), func(t *Task) *[]string { return &t.Argv },
			"the program and arguments of agent command", "command: [go, test, ./...]"),
		newKey("shell", shell(), func(t *Task) *[]string { return &t.Argv },
			"the shell command of agent command, instead of command", "shell: make release && ls dist"),
		newKey("wave", number(1, maxWave), func(t *Task) *int { return &t.Wave },
			"the task waits for all tasks of lower waves; without it, for none", "wave: 2"),
		newKey("after", textOrList(), func(t *Task) *[]string { return &t.After },
			"the ids of the tasks that it waits for", "after: [schema, login]"),
		newKey("branch", branch(), func(t *Task) *string { return &t.Branch },
			"the branch of its worktree; with it, the task has one", "branch: feature/api"),
		newKey("files", textOrList(), func(t *Task) *[]string { return &t.Files },
			"the files, folders and globs it changes: tasks that share some should not run at once", "files: [internal/api, docs/*.md]"),
		newKey("priority", number(-maxPriority, maxPriority), func(t *Task) *int { return &t.Priority },
			"among tasks that could start, the highest goes first; 0 without it", "priority: 10"),
		newKey("budget", nestedMapping("a budget", budgetKeys(), rejected), func(t *Task) *Budget { return &t.Budget },
			"what the task may cost", "budget:\n  usd: 2.50"),
	}
	return append(append(own, candidateKeys()...), defaultKeys()...)
}

// defaultKeys returns the keys of a task that may also be set in the section "defaults" of a plan.
func defaultKeys() []keySpec[Task] {
	env := addToDefaults(environment(), func(t *Task) *map[string]secret.Value { return &t.Env })
	env.name, env.doc, env.example = "env", "variables of the agent's environment, each a text or a reference to where it is kept; a task's add to those of the defaults", "env:\n  PORT: 8080\n  API_KEY: {from: file, path: ~/.secrets/key}"
	permissions := permissionsKey()
	permissions.name, permissions.doc, permissions.example = "permissions", "rules that answer the agent's requests for permission, deny before ask before allow; a task's add to those of the defaults", "permissions:\n  allow: [\"Bash(go test:*)\", \"Edit(src/**)\"]\n  deny: [\"Bash(git push:*)\"]"
	return []keySpec[Task]{
		newKey("agent", agentName(), func(t *Task) *string { return &t.Agent },
			"who does it: "+orList(Agents())+", or one that gaffer.yaml names", "agent: codex"),
		newKey("model", text(), func(t *Task) *string { return &t.Model },
			"the agent's model; its own choice if absent", "model: opus"),
		newKey("fallback", fallbackAgents(), func(t *Task) *[]string { return &t.Fallback },
			"the agents that continue the task while all accounts of its own agent are at their rate limits, as AGENT or AGENT:MODEL, the first choice first", "fallback: [codex, claude:haiku]"),
		newKey("timeout", duration(), func(t *Task) *time.Duration { return &t.Timeout },
			"how long the agent may work in one attempt, without the time in which it waits for the user; 0, as without it, is no limit", "timeout: 45m"),
		newKey("stall_timeout", duration(), func(t *Task) *time.Duration { return &t.StallTimeout },
			"how long an attempt may give no sign of life while it does not wait for the user; 0, as without it, is no limit", "stall_timeout: 10m"),
		newKey("retries", number(0, maxRetries), func(t *Task) *int { return &t.Retries },
			"how many more attempts follow a failed one; 0 without it; rate limits and lost workers use up none", "retries: 2"),
		newKey("verify", textOrList(), func(t *Task) *[]string { return &t.Verify },
			"shell commands that must succeed before the task counts as done", "verify:\n  - go vet ./...\n  - go test ./..."),
		newKey("worktree", boolean(), func(t *Task) *bool { return &t.Worktree },
			"work in a git worktree of its own; false without it", "worktree: true"),
		newKey("land", choice(LandReview, LandMerge, LandPR, LandKeep), func(t *Task) *Land { return &t.Land },
			"what becomes of the change in its worktree when the run's tasks are complete: review (as without it) leaves it to the user, merge merges it, pr opens a pull request, keep leaves it on its branch", "land: merge"),
		newKey("into", branch(), func(t *Task) *string { return &t.Into },
			"the branch that its change is for; the one that is checked out when the run starts if absent", "into: develop"),
		env,
		newKey("labels", labels(), func(t *Task) *[]string { return &t.Labels },
			"only a worker that has them all takes the task", "labels: [gpu]"),
		newKey("questions", choice(Ask, Rules, Deny, Allow), func(t *Task) *QuestionPolicy { return &t.Questions },
			"what becomes of the agent's questions that no rule in permissions decides: ask the user (as without it), rules and deny deny them, allow allows them; deny ignores the rules", "questions: rules"),
		permissions,
		newKey("answer_timeout", duration(), func(t *Task) *time.Duration { return &t.AnswerTimeout },
			"how long a question waits for the user, which nothing else limits; 0, as without it, is for ever", "answer_timeout: 15m"),
		newKey("answer_default", text(), func(t *Task) *string { return &t.AnswerDefault },
			"the answer after answer_timeout", "answer_default: no, leave it"),
		newKey("sandbox", sandbox(), func(t *Task) *Sandbox { return &t.Sandbox },
			"what the agent can reach: a mode (none, program, bubblewrap, container or auto), or a mapping with the mode and what is open in it; without it, none if you answer the agent's questions, else auto", "sandbox:\n  mode: bubblewrap\n  network: [api.anthropic.com]"),
	}
}

// defaults returns the type of the value of a plan's section "defaults", which holds default values
// for all tasks.
func defaults() valueType[Task] {
	keys := defaultKeys()
	return valueType[Task]{objectSchema(keys), func(r *reporter, _ string, n *node) (Task, bool) {
		t := Task{QuestionRules: QuestionRules{Questions: Ask}}
		if n.kind == nothing {
			return t, true // the section is empty, for example because all its keys are commented out
		}
		readMapping(r, "defaults", n, keys, rejected, &t)
		return t, true
	}}
}

// readTask reads one task. Keys that the task does not set get their values from doc.defaults.
func readTask(r *reporter, n *node, keys []keySpec[Task], doc planDocument) (Task, taskPositions) {
	t := doc.defaults
	given := readMapping(r, "a task", n, keys, rejected, &t)
	if t.Line = n.line; n.kind == mapping && len(n.pairs) > 0 {
		t.Line = n.pairs[0].at.line
	}
	checkTask(r, &t, n, given)
	checkBudget(r, t, doc.budget, given)
	return t, positionsOf(given, n.position, "id", "prompt_file")
}

// positionsOf returns the positions in the file of a task's id, of its prompt, and of the ids of
// the tasks that it waits for. The parameters id and prompt are the names of the keys that set the
// id and the prompt in the plan's format. If the task does not have such a key, its position is
// taskPosition, that of the whole task.
func positionsOf(given map[string]pair, taskPosition position, id, prompt string) taskPositions {
	all := taskPositions{id: taskPosition, prompt: taskPosition}
	if p, ok := given[id]; ok {
		all.id = p.value.withPosition(p.at).position
	}
	if p, ok := given[prompt]; ok {
		all.prompt = p.value.withPosition(p.at).position
	}
	if p, ok := given["after"]; ok {
		all.after = p.value.withPosition(p.at).positions()
	}
	return all
}

// checkTask checks keys of a task that require or exclude each other, and sets fields of t that
// depend on several keys.
func checkTask(r *reporter, t *Task, n *node, given map[string]pair) {
	if n.kind != mapping {
		return
	}
	excludes(r, given, "prompt_file", "prompt")
	excludes(r, given, "shell", "command")
	checkAgent(r, t, n, given)
	if p, ok := given["fallback"]; ok && len(t.Argv) > 0 {
		r.report(p.at, "fallback: a command has none, want a task with a prompt")
	}
	if p, ok := given["worktree"]; ok && t.Branch != "" && !t.Worktree {
		r.report(p.value.withPosition(p.at).position, "worktree: found false, but branch %q needs a worktree", t.Branch)
	}
	if p, ok := given["worktree"]; ok && len(t.Candidates) > 0 && !t.Worktree {
		r.report(p.value.withPosition(p.at).position, "worktree: found false, but each candidate needs a worktree")
	}
	checkCandidates(r, t, given)
	t.Worktree = t.Worktree || t.Branch != ""
	if p, ok := given["answer_default"]; ok && t.AnswerTimeout == 0 {
		r.report(p.at, "answer_default needs answer_timeout, how long to wait for the user first")
	}
}

func excludes(r *reporter, given map[string]pair, key, other string) {
	p, ok := given[key]
	if o, both := given[other]; ok && both {
		r.report(p.at, "%s and %s (line %d) exclude each other, want one of them", key, other, o.at.line)
	}
}

// checkAgent checks that a task with the agent "command" has a program (the key "command" or
// "shell"), and that every other task has a prompt and no program. If a task has a program and
// names no agent, checkAgent sets its agent to "command".
func checkAgent(r *reporter, t *Task, n *node, given map[string]pair) {
	program := ""
	for _, key := range []string{"command", "shell"} {
		if _, ok := given[key]; ok {
			program = key
		}
	}
	_, named := given["agent"]
	if program != "" && !named {
		t.Agent = CommandAgent
	}
	_, prompt := given["prompt"]
	_, file := given["prompt_file"]
	switch {
	case program != "" && t.Agent != CommandAgent && t.Agent != "":
		r.report(given[program].at, "%s is of agent command, and this task's agent is %s", program, t.Agent)
	case program == "" && t.Agent == CommandAgent:
		r.report(n.position, "agent command needs command or shell, such as shell: make test")
	case program != "" && len(t.Argv) == 0 && given[program].value.kind == list && len(given[program].value.items) == 0:
		r.report(given[program].at, "%s: found an empty list, want a program and its arguments", program)
	case program == "" && !prompt && !file:
		r.report(n.position, "a task needs prompt, prompt_file, command or shell")
	}
}

// labels returns the type of the value of a task's key "labels". A label in a plan must not contain
// a comma or @. Labels with @ are reserved: gaffer itself makes them to bind a task to one worker.
func labels() valueType[[]string] {
	all := textOrList()
	return valueType[[]string]{all.schema, func(r *reporter, name string, n *node) ([]string, bool) {
		list, ok := all.read(r, name, n)
		for _, label := range list {
			if ok && (label == "" || strings.ContainsAny(label, "@,")) {
				r.report(n.position, "%s: found %q, want words without @ and commas", name, label)
				return nil, false
			}
		}
		return list, ok
	}}
}

func checkBudget(r *reporter, t Task, whole Budget, given map[string]pair) {
	p := given["budget"]
	if whole.USD > 0 && t.Budget.USD > whole.USD {
		r.report(p.at, "budget: found %g USD, which is more than the plan's %g: the task could never start", t.Budget.USD, whole.USD)
	}
	if whole.Tokens > 0 && t.Budget.Tokens > whole.Tokens {
		r.report(p.at, "budget: found %d tokens, which is more than the plan's %d: the task could never start", t.Budget.Tokens, whole.Tokens)
	}
}
