package build

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/engine/store"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// The state stores which events its feed contains, in the same write as the build, so
// that both are updated atomically. This cannot be stored in the build run, which
// becomes null when the build is done.
const (
	cursorField = "gaffer"
	cursorRun   = "buildOf"  // id of the engine's run
	cursorSeq   = "buildSeq" // number of its last event in the feed
)

// Cursor returns the engine's run that a state's feed describes, and the number of
// the last event in it.
func Cursor(state jsontree.Value) (run string, seq int64) {
	c := state.Get(cursorField)
	seq, _ = c.Get(cursorSeq).Int()
	return c.Get(cursorRun).Text(), seq
}

// World holds information for the documents that is not in the events.
type World struct {
	SpecVersion string                    // current version of the spec
	Number      func(alias string) string // returns the number of a section of the spec, or ""
}

// ReplacedError reports that the state holds the build run of another program.
type ReplacedError struct{ RunID, By string }

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("the build %s has been replaced by %s in the state; it is not written any more", e.RunID, e.By)
}

// Write updates the state to match the story and returns the events that its feed
// lacks. told holds all events of the story, because the whole feed is written again
// if another program has emptied the state. seq is the last event in the story.
func (s *Story) Write(root *jsontree.Node, run string, told []Told, seq int64, w World) ([]jsontree.Value, error) {
	before, from := Cursor(root.Value())
	if before != run {
		from = 0
	}
	state, _ := workflow.Read(root.Value())
	if other := state.BuildRun; other != nil && (before == run || s.Written) && other.RunID != s.Build.Run.RunID {
		return nil, &ReplacedError{s.Build.Run.RunID, other.RunID}
	}
	var feed []jsontree.Value
	for _, t := range told {
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
		// The state was emptied after the build had started its step.
		root.Set("currentCommand", or(string(s.Build.Command), string(workflow.Execute)))
		root.Set("workflowStep", workflow.ExecutorBuild)
		state, _ = workflow.Read(root.Value())
	}
	if before != run || seq > from {
		root.Set(cursorField, map[string]any{cursorRun: run, cursorSeq: max(seq, from)})
	}
	return feed, s.put(root, state, w)
}

func (s *Story) put(root *jsontree.Node, state workflow.State, w World) error {
	if s.Ended == store.Complete && s.Build.Run.Outcome() == workflow.RunCompleted {
		workflow.ClearRun(root)
		s.section(root, nil, w)
		return s.finish(root, state, "Run /fctry:review to confirm the build")
	}
	run := s.Build.Run
	run.Chunks = slices.Clone(run.Chunks)
	for i := range run.Chunks {
		c := &run.Chunks[i]
		if s.Build.Tasks[string(c.ID)] == "" { // not built here: the user may have changed it in the meantime
			*c = asInState(state, s.Build.Run.RunID, *c)
		}
		if c.Status == workflow.Completed && c.SpecVersionAtBuild == "" {
			c.SpecVersionAtBuild = or(builtAgainst(state, c.ID), or(w.SpecVersion, run.Plan.SpecVersion))
		}
	}
	workflow.PutRun(root, run)
	s.section(root, s.active(), w)
	if s.Ended == "" {
		return nil
	}
	if run.Outcome() == workflow.Partial {
		return s.finish(root, state, "Run /fctry:evolve "+strings.Join(s.failedSections(), " ")+" before the failed chunks are tried again")
	}
	if resume, _ := run.Resume(workflow.Spec{}); len(resume.Held) > 0 && len(resume.Held) == len(resume.Remaining) {
		return s.finish(root, state, strings.ReplaceAll(resume.Held[0].Text(), "\n ", ";"))
	}
	return s.finish(root, state, "Run 'gaffer build resume' to go on with the build")
}

// asInState returns a chunk as it is in the state, if it exists there.
func asInState(state workflow.State, run string, c workflow.Chunk) workflow.Chunk {
	if state.BuildRun == nil || state.BuildRun.RunID != run {
		return c
	}
	for _, there := range state.BuildRun.Chunks {
		if there.ID == c.ID {
			return there
		}
	}
	return c
}

// builtAgainst returns the spec version in the state that a completed chunk was built
// against. It was stored at completion; the spec may have changed since.
func builtAgainst(state workflow.State, id workflow.ID) string {
	if state.BuildRun != nil {
		for _, c := range state.BuildRun.Chunks {
			if c.ID == id && c.Status == workflow.Completed {
				return c.SpecVersionAtBuild
			}
		}
	}
	return ""
}

// active returns the first section in progress, or nil.
func (s *Story) active() *string {
	for _, c := range s.Build.Run.Chunks {
		if (c.Status == workflow.Active || c.Status == workflow.Retrying) && len(c.Sections) > 0 && s.Ended == "" {
			return &c.Sections[0]
		}
	}
	return nil
}

func (s *Story) section(root *jsontree.Node, alias *string, w World) {
	put := func(name, value string) {
		switch {
		case value == "" && !root.Get(name).Absent():
			root.Set(name, nil)
		case value != "" && root.Get(name).Text() != value:
			root.Set(name, value)
		}
	}
	if alias == nil {
		put("activeSection", "")
		put("activeSectionNumber", "")
		return
	}
	put("activeSection", *alias)
	number := ""
	if w.Number != nil {
		number = w.Number(*alias)
	}
	put("activeSectionNumber", number)
}

func (s *Story) failedSections() (list []string) {
	for _, c := range s.Build.Run.Chunks {
		if c.Status == workflow.Failed {
			list = append(list, c.Sections...)
		}
	}
	return list
}

// finish ends the step and the command of the build, if they are still current, and
// sets the next step for the user.
func (s *Story) finish(root *jsontree.Node, state workflow.State, next string) error {
	if state.WorkflowStep == workflow.ExecutorBuild {
		if err := workflow.DoneStep(root, workflow.ExecutorBuild, ""); err != nil {
			return err
		}
	}
	if state.CurrentCommand == workflow.Execute {
		if err := workflow.EndCommand(root); err != nil {
			return err
		}
		root.Set("nextStep", next)
	}
	return nil
}
