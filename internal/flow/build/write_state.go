package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/engine/store"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// Names of the JSON members of the workflow state (the project's state.json) that say which events
// the activity feed contains. gaffer writes these members in the same update as the build and the
// feed, so that they always match. They are not members of the build run, because the build run
// becomes null when the build is done.
const (
	cursorField = "gaffer"
	cursorRun   = "buildOf"  // member with the id of the engine's run
	cursorSeq   = "buildSeq" // member with the sequence number of the last engine event that was processed for the feed
)

// Cursor says up to which event the activity feed in a workflow state has been written. It returns
// the id of the engine's run that the feed describes, and the sequence number of the last engine
// event that was processed for the feed. It returns "" and 0 if the state does not contain them.
func Cursor(state jsontree.Value) (run string, seq int64) {
	c := state.Get(cursorField)
	seq, _ = c.Get(cursorSeq).Int()
	return c.Get(cursorRun).Text(), seq
}

// SpecInfo holds what the workflow documents need from the project's spec.
type SpecInfo struct {
	Version string                    // current version of the spec
	Number  func(alias string) string // returns the number of the spec section with this alias; empty if there is none
}

// ReplacedError reports that another program has replaced this build run in the workflow state by a
// build run of its own.
type ReplacedError struct{ RunID, By string }

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("the build %s has been replaced by %s in the state; it is not written any more", e.RunID, e.By)
}

// Write updates the workflow state to match s, and returns the events that the activity feed in the
// state lacks. run is the id of the engine's run, and seq is the sequence number of the last
// applied event. entries must hold all feed entries of the build: if another program has emptied
// the state, Write returns the whole feed again. If another program has replaced this build in the
// state by its own build, Write changes nothing and returns a [*ReplacedError].
func (s *Progress) Write(root *jsontree.Node, run string, entries []FeedEntry, seq int64, spec SpecInfo) ([]jsontree.Value, error) {
	before, from := Cursor(root.Value())
	if before != run {
		from = 0
	}
	state, _ := workflow.Read(root.Value())
	if other := state.BuildRun; other != nil && (before == run || s.Written) && other.RunID != s.Build.Run.RunID {
		return nil, &ReplacedError{s.Build.Run.RunID, other.RunID}
	}
	var feed []jsontree.Value
	for _, t := range entries {
		if t.Seq <= from {
			continue
		}
		event, err := t.Draft.Event(t.At)
		if err != nil {
			return nil, err
		}
		feed = append(feed, event)
	}
	if before != run && state.CurrentCommand == "" && state.WorkflowStep == "" {
		// The build has set the workflow's current command and step, but another program has
		// cleared them since then: set them again.
		root.Set("currentCommand", cmp.Or(string(s.Build.Command), string(workflow.Execute)))
		root.Set("workflowStep", workflow.ExecutorBuild)
		state, _ = workflow.Read(root.Value())
	}
	if before != run || seq > from {
		root.Set(cursorField, map[string]any{cursorRun: run, cursorSeq: max(seq, from)})
	}
	return feed, s.writeRun(root, state, spec)
}

// writeRun writes the build run and the active section (the section of the spec that is being
// built) to the state, or removes both if the build is completed. If the build has ended, writeRun
// also ends the build's step of the workflow (see finish).
func (s *Progress) writeRun(root *jsontree.Node, state workflow.State, spec SpecInfo) error {
	if s.Ended == store.Complete && s.Build.Run.Outcome() == workflow.RunCompleted {
		workflow.ClearRun(root)
		setText(root, "activeSection", "")
		setText(root, "activeSectionNumber", "")
		return s.finish(root, state, "Run /fctry:review to confirm the build")
	}
	run := s.Build.Run
	run.Chunks = slices.Clone(run.Chunks)
	for i := range run.Chunks {
		c := &run.Chunks[i]
		there, known := chunkInState(state, c.ID)
		if known && s.Build.Tasks[string(c.ID)] == "" && state.BuildRun.RunID == run.RunID {
			*c = there // gaffer does not build this chunk: keep the values in the state
		}
		if c.Status == workflow.Completed && c.SpecVersionAtBuild == "" {
			// If this chunk was completed before, keep the spec version that was stored then: the
			// spec may have a newer version now.
			if there.Status == workflow.Completed {
				c.SpecVersionAtBuild = there.SpecVersionAtBuild
			}
			c.SpecVersionAtBuild = cmp.Or(c.SpecVersionAtBuild, spec.Version, run.Plan.SpecVersion)
		}
	}
	workflow.PutRun(root, run)

	active, number := "", ""
	var failed []string
	for _, c := range s.Build.Run.Chunks {
		switch {
		case c.Status == workflow.Failed:
			failed = append(failed, c.Sections...)
		case (c.Status == workflow.Active || c.Status == workflow.Retrying) && len(c.Sections) > 0 && s.Ended == "" && active == "":
			active = c.Sections[0]
		}
	}
	if active != "" && spec.Number != nil {
		number = spec.Number(active)
	}
	setText(root, "activeSection", active)
	setText(root, "activeSectionNumber", number)
	if s.Ended == "" {
		return nil
	}
	if run.Outcome() == workflow.Partial {
		return s.finish(root, state, "Run /fctry:evolve "+strings.Join(failed, " ")+" before the failed chunks are tried again")
	}
	if resume, _ := run.Resume(workflow.Spec{}); len(resume.Held) > 0 && len(resume.Held) == len(resume.Remaining) {
		return s.finish(root, state, strings.ReplaceAll(resume.Held[0].Text(), "\n ", ";"))
	}
	return s.finish(root, state, "Run 'gaffer build resume' to go on with the build")
}

// chunkInState returns the chunk (a part of the build) with this id in the workflow state, and
// false if there is none.
func chunkInState(state workflow.State, id workflow.ID) (workflow.Chunk, bool) {
	if state.BuildRun != nil {
		for _, c := range state.BuildRun.Chunks {
			if c.ID == id {
				return c, true
			}
		}
	}
	return workflow.Chunk{}, false
}

// setText sets the JSON member of the workflow state with this name to text. It changes nothing if
// the member already has this value. If text is empty, setText sets the member to null if it
// exists, and does not add it if it does not exist.
func setText(root *jsontree.Node, name, text string) {
	switch {
	case text == "" && !root.Get(name).Absent():
		root.Set(name, nil)
	case text != "" && root.Get(name).Text() != text:
		root.Set(name, text)
	}
}

// finish ends the workflow step [workflow.ExecutorBuild] if it is still the current step. If the
// current command of the workflow is [workflow.Execute], finish also ends that command, and stores
// nextStep in the state: a text that tells the user what to do next.
func (s *Progress) finish(root *jsontree.Node, state workflow.State, nextStep string) error {
	if state.WorkflowStep == workflow.ExecutorBuild {
		if err := workflow.DoneStep(root, workflow.ExecutorBuild, ""); err != nil {
			return err
		}
	}
	if state.CurrentCommand == workflow.Execute {
		if err := workflow.EndCommand(root); err != nil {
			return err
		}
		root.Set("nextStep", nextStep)
	}
	return nil
}
