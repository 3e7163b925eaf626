package statusline

import (
	"cmp"
	"math"

	"gaffer/internal/flow/spec"
	"gaffer/workflow"
)

// Documents holds the contents of the files that the status line is computed from. The content of a
// missing file is nil.
type Documents struct {
	Project string // name of the project's folder
	Used    bool   // the project has a folder for workflow files, such as state.json
	State   []byte // content of state.json
	Config  []byte // content of config.json
	Spec    []byte // beginning of spec.md; not nil if the file exists
	Head    []byte // content of git's HEAD file
	Agent   []byte // JSON that the agent program passes on stdin
}

// compactAt is the percentage of the context window at which an agent compacts its conversation.
// The status line shows this as 100 percent.
const compactAt = 84

// Read computes the status line from the documents. It cannot fail: it skips what it cannot read.
// If the content of state.json is null, broken or not an object, Read treats it as empty.
func Read(d Documents) Line {
	versions, state := parse(d.Config).Get("versions"), parse(d.State)
	s, _ := workflow.Read(state)
	line := Line{
		Project: d.Project, Branch: Branch(d.Head), SpecStatus: spec.StatusOf(d.Spec),
		Version: text(versions.Get("external").Get("current")),
		// Prefer the spec version in config.json, because state.json has only a copy of it.
		SpecVersion: cmp.Or(text(versions.Get("spec").Get("current")), text(state.Get("specVersion"))),
		Command:     text(state.Get("currentCommand")),
		Chunks:      chunksOf(state, s.BuildRun),
		Section:     text(state.Get("activeSection")), SectionNumber: text(state.Get("activeSectionNumber")),
		Next: text(state.Get("nextStep")),
	}
	if a := ReadAgent(d.Agent); a.UsedKnown {
		percent := int(max(0, min(100, math.Round(a.Used/compactAt*100))))
		line.Context = &Context{Percent: percent, Level: workflow.LevelOf(float64(percent))}
	}
	if satisfied, total, ok := pair(state.Get("scenarioScore"), "satisfied", "total"); ok {
		line.Score = &workflow.Score{Satisfied: satisfied, Total: total}
	}
	sections, all := s.SectionCounts(), 0
	for _, n := range sections {
		all += n
	}
	if all > 0 { // count the sections of the spec that need no more work
		line.Ready = &Ready{Ready: sections["aligned"] + sections["ready-to-execute"] + sections["satisfied"], Total: all}
	}
	for _, change := range state.Get("untrackedChanges").Items() {
		if !change.Absent() {
			line.Untracked++
		}
	}
	if used := d.Used || d.State != nil || d.Config != nil || d.Spec != nil; used && line.Next == "" && line.Command == "" {
		line.Next, line.Derived = next(line, sections, d.Spec != nil), true
	}
	return line
}

// next suggests the next step of a project whose state.json contains none.
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
