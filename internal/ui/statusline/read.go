package statusline

import (
	"gaffer/internal/flow/spec"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// Documents holds the documents that a line is read from. A missing document is nil.
type Documents struct {
	Project string // the name of the project's folder
	Used    bool   // the project has a folder for the workflow's documents
	State   []byte // state.json
	Config  []byte // config.json
	Spec    []byte // the beginning of spec.md; empty, not nil, if it has no text
	Head    []byte // git's HEAD
	Agent   []byte // the status of the agent program
}

// Read returns the line. It always succeeds.
func Read(d Documents) Line {
	config, state := parse(d.Config).Get("versions"), parse(d.State)
	line := Line{
		Project: d.Project, Branch: Branch(d.Head), SpecStatus: spec.StatusOf(d.Spec),
		Version:     text(config.Get("external").Get("current")),
		SpecVersion: text(config.Get("spec").Get("current")),
		Context:     contextOf(ReadAgent(d.Agent)),
	}
	sections := readState(&line, state)
	if used := d.Used || d.State != nil || d.Config != nil || d.Spec != nil; used && line.Next == "" && line.Command == "" {
		line.Next, line.Derived = next(line, sections, d.Spec != nil), true
	}
	return line
}

// readState fills in the values of state.json, and returns the number of sections by
// readiness. As the protocol requires, a state that is null, broken or of another
// form counts as empty.
func readState(line *Line, v jsontree.Value) (sections map[string]int) {
	s, _ := workflow.Read(v)
	if line.SpecVersion == "" {
		line.SpecVersion = text(v.Get("specVersion")) // a copy; config.json is authoritative
	}
	line.Command = text(v.Get("currentCommand"))
	line.Chunks = chunksOf(v, s.BuildRun)
	line.Section, line.SectionNumber = text(v.Get("activeSection")), text(v.Get("activeSectionNumber"))
	line.Score = scoreOf(v.Get("scenarioScore"))
	sections = s.SectionCounts()
	line.Ready = readyOf(sections)
	line.Untracked = present(v.Get("untrackedChanges"))
	line.Next = text(v.Get("nextStep"))
	return sections
}

func scoreOf(v jsontree.Value) *workflow.Score {
	satisfied, total, ok := pair(v, "satisfied", "total")
	if !ok {
		return nil
	}
	return &workflow.Score{Satisfied: satisfied, Total: total}
}

// readyWords lists the readiness values of sections that need no more work.
var readyWords = []string{"aligned", "ready-to-execute", "satisfied"}

func readyOf(sections map[string]int) *Ready {
	var r Ready
	for _, count := range sections {
		r.Total += count
	}
	for _, word := range readyWords {
		r.Ready += sections[word]
	}
	if r.Total == 0 {
		return nil
	}
	return &r
}

// present counts the items of an array that are not empty.
func present(v jsontree.Value) int {
	n := 0
	for _, item := range v.Items() {
		if !item.Absent() {
			n++
		}
	}
	return n
}

// next suggests a next step, for a state that names none.
func next(line Line, sections map[string]int, hasSpec bool) string {
	score := line.Score
	switch {
	case !hasSpec:
		return "/fctry:init to create a spec"
	case line.Untracked > 0:
		return "/fctry:evolve to update spec with recent changes"
	case score != nil && score.Satisfied >= score.Total:
		return "All scenarios satisfied! /fctry:review to confirm"
	case sections["spec-ahead"] > 0:
		return "/fctry:execute to build spec-ahead sections"
	case score != nil:
		return "/fctry:execute to satisfy remaining scenarios"
	case sections["draft"] > 0:
		return "/fctry:evolve to flesh out draft sections"
	}
	return "/fctry:evolve to refine, or /fctry:execute to build"
}
