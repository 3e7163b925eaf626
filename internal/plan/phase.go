package plan

import (
	"bytes"
	"path"
	"strings"

	"gaffer/statefile/lazyregexp"
)

// phaseFile matches the file name of a phase plan, for example 02-01-PLAN.md. A phase plan is a
// Markdown file that describes one task. The first group of the pattern is the number of the phase,
// here 02. The second group is the number of the plan within the phase, here 01.
var phaseFile = lazyregexp.New(`^(\d+(?:\.\d+)?)-(\d+)-PLAN\.md$`)

// phaseFrontMatter holds the values in the front matter of a phase plan, the YAML at its start.
type phaseFrontMatter struct {
	phase, plan, kind string
	wave              int
	dependsOn, files  []string
	autonomous        bool
}

func phaseKeys() []keySpec[phaseFrontMatter] {
	return []keySpec[phaseFrontMatter]{
		newKey("phase", text(), func(f *phaseFrontMatter) *string { return &f.phase }, "the phase", "phase: 02-storage"),
		newKey("plan", text(), func(f *phaseFrontMatter) *string { return &f.plan }, "the plan's number", "plan: 01"),
		newKey("type", choice("execute", "tdd"), func(f *phaseFrontMatter) *string { return &f.kind }, "how it is done", "type: execute"),
		newKey("wave", number(1, maxWave), func(f *phaseFrontMatter) *int { return &f.wave }, "its wave; 1 without it", "wave: 2"),
		newKey("depends_on", listOrNothing(), func(f *phaseFrontMatter) *[]string { return &f.dependsOn }, "the plans that it waits for", "depends_on: [02-01]"),
		newKey("files_modified", listOrNothing(), func(f *phaseFrontMatter) *[]string { return &f.files }, "the files that it changes", "files_modified: [src/db.go]"),
		newKey("autonomous", boolean(), func(f *phaseFrontMatter) *bool { return &f.autonomous }, "whether it needs no user", "autonomous: true"),
		// gaffer ignores the key must_haves. It is meant for the agent, which gets the whole file
		// as its prompt.
		{name: "must_haves", read: func(*reporter, *node, *phaseFrontMatter) {}},
	}
}

// listOrNothing is like [textOrList], but also accepts a key without a value, which means an empty
// list.
func listOrNothing() valueType[[]string] {
	f := textOrList()
	read := f.read
	f.read = func(r *reporter, name string, n *node) ([]string, bool) {
		if n.kind == nothing {
			return nil, true
		}
		return read(r, name, n)
	}
	return f
}

// readPhase reads one phase plan. The prompt of its task is the whole file. The parameter done says
// whether the task is done, which means that there is a summary file such as 02-01-SUMMARY.md.
func readPhase(file string, data []byte, done bool, r *reporter) (Task, taskPositions) {
	name := phaseFile().FindStringSubmatch(path.Base(file))
	t := Task{
		Prompt: string(data), PromptFile: file, Wave: 1, QuestionRules: QuestionRules{Questions: Ask}, FileEntry: FileEntry{Done: done, Line: 1},
	}
	if name == nil {
		r.report(position{}, "the name of a phase plan is NN-XX-PLAN.md, such as 02-01-PLAN.md")
		return t, taskPositions{}
	}
	t.ID = name[1] + "-" + name[2]
	at := taskPositions{id: position{line: 1, column: 1}, prompt: position{line: 1, column: 1}}
	yaml, begun, ended := frontMatter(data)
	switch {
	case !begun:
		r.report(position{line: 1, column: 1}, "found no front matter, want a line of '---', keys such as wave: 1, and '---' again")
		return t, at
	case !ended:
		r.report(position{line: 1, column: 1}, "the front matter that begins here is never closed, want a line of '---' behind its keys")
		return t, at
	}
	root := r.tree(yaml)
	if root == nil {
		return t, at
	}
	f := phaseFrontMatter{wave: 1}
	given := readMapping(r, "front matter", root, phaseKeys(), tolerated, &f)
	t.Name = orElse(objective(data), strings.TrimSpace(f.phase+" "+t.ID))
	t.Wave, t.Files = f.wave, f.files
	for _, id := range f.dependsOn {
		t.After = append(t.After, phaseID(id, name[1], len(name[2])))
	}
	if p, ok := given["depends_on"]; ok {
		at.after = p.value.withPosition(p.at).positions()
	}
	if p, ok := given["plan"]; ok && phaseID(f.plan, name[1], len(name[2])) != t.ID {
		r.warn(p.value.withPosition(p.at).position, "plan: found %q, while the file's name says %s", f.plan, name[2])
	}
	return t, at
}

// objective returns the first line in the <objective> section of a phase plan, or "" if the plan
// has no such section.
func objective(data []byte) string {
	_, text, _ := bytes.Cut(data, []byte("<objective>"))
	return strings.TrimSpace(firstLine(strings.TrimSpace(string(text[:min(len(text), 300)]))))
}

// phaseID returns the id of a phase plan, for example 02-01. The parameter reference is that id, or
// a file name such as 02-01-PLAN.md, or only the number of the plan, for example 1. phaseID pads
// such a number with zeros to the length digits, and puts the parameter phase before it.
func phaseID(reference, phase string, digits int) string {
	id := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(path.Base(reference)), ".md"), "-PLAN")
	if strings.Contains(id, "-") || strings.Trim(id, "0123456789") != "" {
		return id
	}
	return phase + "-" + strings.Repeat("0", max(0, digits-len(id))) + id
}

// frontMatter returns the YAML at the start of a Markdown file. It is between the first line, which
// must be ---, and the next line that is ---. The results begun and ended report whether these two
// lines exist. The returned YAML starts with an empty line, so that its lines have the same numbers
// as in the file.
func frontMatter(data []byte) (yaml []byte, begun, ended bool) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	if strings.TrimRight(string(first), "\r ") != "---" {
		return nil, false, false
	}
	yaml = []byte("\n")
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if strings.TrimRight(string(line), "\r ") == "---" {
			return yaml, true, true
		}
		yaml = append(append(yaml, line...), '\n')
	}
	return nil, true, false
}
