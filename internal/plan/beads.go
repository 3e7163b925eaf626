package plan

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"gaffer/statefile"
)

// beadReader reads a file with one bead (a work item) per line. A line is in gaffer's own format,
// or in the export format of the issue tracker "beads". One file may contain lines of both formats.
type beadReader struct {
	*reporter
	dir      string                 // path of the folder that contains the file
	folder   func(path string) bool // reports whether a folder exists
	defaults Task                   // values of the keys that a bead does not set
	keys     []keySpec[Task]        // keys of a bead in gaffer's own format
	draft    draft
	// issues has one element for each task in draft.Tasks: the issue if the task's bead is in the
	// tracker's format, and nil if it is in gaffer's own format.
	issues     []*issue
	links      []link
	unreadable map[string]bool // ids of beads on lines that are not valid JSON
}

// readBeads reads a file of beads and the prompt files that it names. It leaves out beads on which
// no agent has to work, for example closed ones.
func (l *loader) readBeads(arg, dir string, data []byte) draft {
	d := readBeads(arg, dir, data, &l.reporter, func(path string) bool {
		info, err := l.host.Stat(readStep, path)
		return err == nil && info.IsDir()
	}, l.opts.BeadDefaults)
	l.readPrompts(&d, dir)
	d.dropDone()
	return d
}

// readBeads reads and checks a file of beads. If no agent has to work on a bead, for example
// because it is closed, readBeads sets the field Done of its task. The parameter folder is a
// function that reports whether a folder exists.
func readBeads(file, dir string, data []byte, r *reporter, folder func(string) bool, defaults Task) draft {
	b := beadReader{reporter: r, dir: dir, folder: folder, defaults: defaults, keys: beadKeys(), unreadable: map[string]bool{}}
	b.draft.Plan = Plan{Name: defaultName(file), Source: SourceRunPrompt, SourceFile: file, OnFailure: Continue}
	for _, n := range b.lines(data) {
		if isIssue(n) {
			b.addIssue(n)
		} else {
			b.draft.add(b.bead(n))
			b.issues = append(b.issues, nil)
		}
	}
	if len(b.draft.Tasks) <= maxTasks {
		newBeadOrder(&b).setDependencies()
	}
	b.draft.check(r, "bead")
	// Check two further rules: an id must not contain attemptMark, and a prompt must not be too
	// long.
	for i, t := range b.draft.Tasks {
		at := b.draft.positions[i]
		if strings.Contains(t.ID, attemptMark) {
			b.report(at.id, "the id %.60q has %q, which names the records of earlier attempts", t.ID, attemptMark)
		}
		if len(t.Prompt) > maxPrompt {
			b.report(at.prompt, "the prompt of %.60q has %d KiB, want %d at most", t.ID, len(t.Prompt)>>10, maxPrompt>>10)
		}
	}
	return b.draft
}

// attemptMark separates the id of a bead from the number of an attempt in the names of the files
// that describe attempts. So the id of a bead must not contain attemptMark.
const attemptMark = ".attempt-"

// isIssue reports whether a line is in the export format of the issue tracker "beads", and not in
// gaffer's own format. It decides by the keys in the line.
func isIssue(n *node) bool {
	if n.get("bead") != nil || n.get("prompt") != nil || n.get("prompt_file") != nil || n.get("template") != nil {
		return false
	}
	return n.get("_type") != nil || n.get("id") != nil && n.get("agent") == nil || n.get("title") != nil
}

// beadKeys returns the keys of a bead in gaffer's own format. These are the keys of a task in a
// plan, except those that do not apply to beads, and further keys that only beads have. Some keys,
// such as priority, have another meaning for beads than for tasks.
func beadKeys() []keySpec[Task] {
	keys := []keySpec[Task]{
		newKey("bead", text(), func(t *Task) *string { return &t.ID },
			"what other beads, records and its session call it; unique, and fit for a file's name", `"bead": "bd-1"`).require(),
		newKey("template", text(), func(t *Task) *string { return &t.Dispatch.Template },
			"the template that its prompt is made from; prompt, if there is one, is the template's {{PROMPT}}", `"template": "bug-fix"`),
		newKey("vars", textVariables("vars"), func(t *Task) *map[string]string { return &t.Dispatch.Vars },
			"the template's variables", `"vars": {"FILE": "login.go"}`),
		newKey("repo", text(), func(t *Task) *string { return &t.Dispatch.Repo },
			"the folder that it is worked on in, from the folder of the file", `"repo": "../api"`),
		newKey("agent", beadAgent(), func(t *Task) *string { return &t.Agent },
			"who does it, with its model behind a colon or in model", `"agent": "claude:opus"`),
		newKey("priority", number(0, lowestPriority), func(t *Task) *int { return &t.Priority },
			"0 is the most urgent and 4 the least; 2 without it", `"priority": 0`),
	}
	other := []string{"id", "wave", "command", "shell"}
	for _, f := range keys {
		other = append(other, f.name)
	}
	for _, f := range taskKeys() {
		if !slices.Contains(other, f.name) {
			keys = append(keys, f)
		}
	}
	return keys
}

// Priorities of beads in a file, where 0 is the most urgent. [Task.Priority] gets the negated
// number, for example -2 for 2, because tasks with a higher Priority start first.
const (
	normalPriority = 2
	lowestPriority = 4
)

// beadAgent is the value type for the agent of a bead: the name of the agent with an optional
// model, for example claude:opus. The agent "command" is not allowed, because a bead has a prompt
// and no command line.
func beadAgent() valueType[string] {
	return valueType[string]{schema{Type: "string"}, func(r *reporter, name string, n *node) (string, bool) {
		agent, model, colon := strings.Cut(n.text, ":")
		named := *n
		named.text = agent
		names := slices.DeleteFunc(Agents(), func(a string) bool { return a == CommandAgent })
		if _, ok := choice(append(names, r.agents...)...).read(r, name, &named); !ok {
			return "", false
		}
		if colon && strings.TrimSpace(model) == "" {
			r.report(n.position, "%s: found %q, want a model behind the colon, such as claude:opus", name, n.text)
			return "", false
		}
		return n.text, true
	}}
}

// newTask returns a task with the default values, for the bead in the parsed line n.
func (b *beadReader) newTask(n *node) Task {
	t := b.defaults
	t.Dispatch, t.FileEntry, t.Priority = &Dispatch{}, FileEntry{Line: n.line}, normalPriority
	t.Questions = cmp.Or(t.Questions, Ask)
	t.Timeout, t.Retries = cmp.Or(t.Timeout, BeadTimeout), cmp.Or(t.Retries, BeadRetries)
	return t
}

// bead converts the parsed line n, a bead in gaffer's own format, to a task. The second result has
// the positions of the task's keys in the file.
func (b *beadReader) bead(n *node) (Task, taskPositions) {
	t := b.newTask(n)
	bead := *n
	bead.pairs = slices.Clone(n.pairs)
	// Ignore keys whose value is null: some programs write them for keys that are not set.
	bead.pairs = slices.DeleteFunc(bead.pairs, func(p pair) bool { return p.value.kind == nothing })
	if at := slices.IndexFunc(bead.pairs, func(p pair) bool { return p.key == "id" }); at >= 0 && bead.get("bead") == nil {
		b.report(bead.pairs[at].at, "a bead has no key %q", "id")
		b.problems[len(b.problems)-1].Suggestion = "bead"
		bead.pairs[at].key = "bead" // rename the key to "bead", so that its value is checked too
	}
	given := readMapping(b.reporter, "a bead", &bead, b.keys, rejected, &t)
	t.Priority = -t.Priority
	t.Dispatch.Bead = t.ID
	b.checkBead(&t, &bead, given)
	return t, positionsOf(given, n.position, "bead", "prompt_file")
}

// checkBead checks keys of a bead that require or exclude each other, and sets fields of the task t
// that depend on several keys.
func (b *beadReader) checkBead(t *Task, n *node, given map[string]pair) {
	if n.kind != mapping {
		return
	}
	_, ownAgent := given["agent"]
	if _, ownModel := given["model"]; ownAgent && !ownModel {
		t.Model = "" // the bead names its own agent, which may not know the default model
	}
	agent, model, _ := strings.Cut(t.Agent, ":")
	if t.Agent = agent; model != "" {
		if p, ok := given["model"]; ok && t.Model != "" && t.Model != model {
			b.report(p.value.withPosition(p.at).position, "model: found %.80q, but agent says %.80q: want one of them", t.Model, model)
		}
		t.Model = model
	}
	if named := t.Dispatch.Repo; named != "" {
		t.Dispatch.Repo = under(b.dir, named)
		if p := given["repo"]; !b.folder(t.Dispatch.Repo) {
			b.report(p.value.withPosition(p.at).position, "repo: found no folder %.200q; it starts at the folder of this file", named)
		}
	}
	_, prompt := given["prompt"]
	_, file := given["prompt_file"]
	p, template := given["template"]
	if name := t.Dispatch.Template; template && name != "" { // readMapping has already reported an empty name
		if bad, ok := errors.AsType[*statefile.NameError](statefile.CheckName("template", name)); ok {
			b.report(p.value.withPosition(p.at).position, "template: %.60q %s, want a name such as bug-fix", name, bad.Problem)
		}
	}
	if p, ok := given["vars"]; ok && !template {
		b.report(p.at, "vars needs template, which they are for")
	}
	if !prompt && !file {
		if !template {
			b.report(n.position, "a bead needs prompt, prompt_file or template")
		}
		// Mark the key prompt as given, so that checkTask does not report it as missing. Either the
		// template replaces the prompt, or the problem was just reported.
		given["prompt"] = pair{}
	}
	checkTask(b.reporter, t, n, given)
}
