package plan

// workflowModels maps each model name in a workflow file to an agent and a model.
var workflowModels = []struct{ word, agent, model string }{
	{"claude", "claude", ""},
	{"codex", "codex", ""},
	{"gemini", "gemini", ""},
	{"zai", "zai", ""},
	{"opencode", "opencode", ""},
	{"opencode-zai", "opencode", "zai"},
	{"opencode-codex", "opencode", "codex"},
	{"claude-zai", "claude", "zai"},
}

// workflowDoc is a workflow whose prompts were not read yet. The field prompts is their YAML.
type workflowDoc struct {
	Workflow
	prompts *node
}

// prompt is one prompt of a workflow.
type prompt struct {
	path  string
	after []string
	model string
}

func workflowKeys() []keySpec[workflowDoc] {
	return []keySpec[workflowDoc]{
		newKey("base", branch(), func(f *workflowDoc) *string { return &f.Base }, "the branch to begin from", "base: main").require(),
		newKey("branch", branch(), func(f *workflowDoc) *string { return &f.Branch }, "the branch to work on", "branch: gh-12-login").require(),
		newKey("on_complete", onComplete(), func(f *workflowDoc) *OnComplete { return &f.OnComplete },
			"what follows the last prompt", "on_complete: {create_pr: true}"),
		newKey("prompts", anyMapping(), func(f *workflowDoc) **node { return &f.prompts },
			"the prompts by id", "prompts: {setup: {path: prompts/001.md}}").require(),
	}
}

func onComplete() valueType[OnComplete] {
	keys := []keySpec[OnComplete]{
		newKey("create_pr", boolean(), func(o *OnComplete) *bool { return &o.CreatePR }, "open a pull request", "create_pr: true"),
		newKey("merge_to", branch(), func(o *OnComplete) *string { return &o.MergeTo }, "merge into this branch", "merge_to: main"),
		newKey("delete_worktree", boolean(), func(o *OnComplete) *bool { return &o.DeleteWorktree }, "remove the worktrees; true without it", "delete_worktree: false"),
	}
	return valueType[OnComplete]{objectSchema(keys), func(r *reporter, _ string, n *node) (OnComplete, bool) {
		o := OnComplete{DeleteWorktree: true}
		given := readMapping(r, "on_complete", n, keys, rejected, &o)
		if o.CreatePR {
			excludes(r, given, "merge_to", "create_pr")
		}
		return o, true
	}}
}

func anyMapping() valueType[*node] {
	return valueType[*node]{schema{Type: "object"}, func(r *reporter, name string, n *node) (*node, bool) {
		found := n.kind.String()
		if n.kind == mapping {
			found = "an empty mapping"
		}
		if n.kind != mapping || len(n.pairs) == 0 {
			r.report(n.position, "%s: found %s, want one or more under their ids", name, found)
			return nil, false
		}
		return n, true
	}}
}

func promptKeys() []keySpec[prompt] {
	models := make([]string, len(workflowModels))
	for i, m := range workflowModels {
		models[i] = m.word
	}
	return []keySpec[prompt]{
		newKey("path", text(), func(p *prompt) *string { return &p.path }, "the prompt's file", "path: prompts/001-setup.md").require(),
		newKey("after", textOrList(), func(p *prompt) *[]string { return &p.after }, "the prompts that it waits for", "after: [setup]"),
		newKey("model", choice(models...), func(p *prompt) *string { return &p.model }, "who does it; without it, the agent of --agent, or claude", "model: codex"),
	}
}

// readWorkflows returns the workflow with the given id from a workflow file. It reads the other
// workflows too, to report all problems of the file. If id is empty, the file must have only one
// workflow.
func readWorkflows(file string, root *node, r *reporter, id string) draft {
	var flows *node
	readMapping(r, "a workflow file", root, []keySpec[*node]{
		newKey("workflows", anyMapping(), func(n **node) **node { return n }, "the workflows by id", "workflows: {…}").require(),
	}, rejected, &flows)
	if flows == nil {
		return draft{}
	}
	var ids []string
	drafts := map[string]draft{}
	for _, p := range flows.pairs {
		d := readWorkflow(file, p, r)
		d.checkWorkflow(r, p.at)
		ids, drafts[p.key] = append(ids, p.key), d
	}
	if id == "" && len(ids) == 1 {
		id = ids[0]
	}
	chosen, ok := drafts[id]
	switch {
	case ok:
	case id == "":
		r.report(flows.position, "found %d workflows, %s: say which one is meant (--workflow)", len(ids), andList(ids))
	default:
		r.report(flows.position, "no workflow has the id %q, want %s", id, orList(ids))
		r.suggest(id, ids)
	}
	return chosen
}

// readWorkflow reads one workflow and its prompts. The parameter p holds the workflow's id and its
// content in the YAML file.
func readWorkflow(file string, p pair, r *reporter) draft {
	f := workflowDoc{Workflow: Workflow{ID: p.key, OnComplete: OnComplete{DeleteWorktree: true}}}
	readMapping(r, "a workflow", p.value.withPosition(p.at), workflowKeys(), rejected, &f)
	d := draft{Plan: Plan{
		Name: p.key, Source: SourceOrchestrate, SourceFile: file, OnFailure: Stop, Workflow: &f.Workflow,
	}}
	if f.prompts == nil {
		return d
	}
	keys := promptKeys()
	for _, entry := range f.prompts.pairs {
		var p prompt
		given := readMapping(r, "a prompt", entry.value.withPosition(entry.at), keys, rejected, &p)
		t := Task{ID: entry.key, PromptFile: p.path, After: p.after, QuestionRules: QuestionRules{Questions: Ask}, FileEntry: FileEntry{Line: entry.at.line}}
		for _, m := range workflowModels {
			if m.word == p.model {
				t.Agent, t.Model = m.agent, m.model
			}
		}
		d.add(t, positionsOf(given, entry.at, "", "path"))
	}
	return d
}

// checkWorkflow checks one workflow, and sets the wave of each prompt. All prompts of a wave can
// run at the same time. So if a wave has several prompts, each of them gets its own worktree.
func (d *draft) checkWorkflow(r *reporter, at position) {
	before := len(r.problems)
	d.check(r, "prompt")
	for i, t := range d.Tasks {
		if t.ID != "" && !IsBranch(d.branchOf(t)) {
			r.report(d.positions[i].id, "the id %q cannot be part of a branch's name, want letters, digits, - and _", t.ID)
		}
	}
	if len(r.problems) > before {
		return
	}
	if last := d.last(); len(last) > 1 {
		r.report(at, "workflow %q ends in %d prompts, %s: want exactly one that all others lead to", d.Name, len(last), andList(last))
	}
	waves, index := d.Waves(), d.Graph().index
	for n, wave := range waves {
		for _, id := range wave {
			t := &d.Tasks[index[id]]
			t.Wave = n + 1
			if len(wave) > 1 {
				t.Worktree, t.Branch = true, d.branchOf(*t)
			}
		}
	}
}

func (d *draft) branchOf(t Task) string { return d.Workflow.ID + "--" + t.ID }

// last returns the ids of the tasks at the end of the workflow: no other task waits for them.
func (d *draft) last() []string {
	waited := map[string]bool{}
	for _, t := range d.Tasks {
		for _, id := range t.After {
			waited[id] = true
		}
	}
	var last []string
	for _, t := range d.Tasks {
		if !waited[t.ID] {
			last = append(last, t.ID)
		}
	}
	return last
}
