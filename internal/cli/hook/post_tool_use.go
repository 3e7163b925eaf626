package hook

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/byhand/hookevents"
	"gaffer/internal/cli/env"
	"gaffer/internal/flow/spec"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
	"gaffer/workflow"
)

func postToolUseCommand(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "post-tool-use",
		Short: "Note a file that was written outside a command",
		Long: `Note a file that was written outside a command, if a section of the spec
describes it.

Which section that is the project says: globs under "sections" in
.fctry/config.json, then the text of the sections where it names the file or its
folder. It is noted under untrackedChanges in .fctry/state.json until evolve or
review of that section ends. Without a .fctry folder nothing is done.`,
		Example: `  echo '{"tool_name": "Write", "tool_input": {"file_path": "src/a.js"}}' | gaffer hook post-tool-use`,
		// Accept any arguments and flags: a wrongly configured hook must not stop the agent.
		Args:               cobra.ArbitraryArgs,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		RunE:               hookCommand(e, func(ctx context.Context) error { return postToolUse(ctx, e) }),
	}
}

func postToolUse(ctx context.Context, e *env.Env) error {
	event, err := hookevents.ReadEvent(e.In)
	if err != nil {
		return err
	}
	return noteWritten(ctx, e, event)
}

// noteWritten stores an untracked change in the workflow's state for each file that the tool call
// in this event has written. Untracked means that no command of the workflow has made the change.
// noteWritten leaves out the files that [describe] leaves out. If the project has no workflow
// folder, or if a command of the workflow is in progress, it does nothing.
func noteWritten(ctx context.Context, e *env.Env, event jsontree.Value) error {
	files := hookevents.WrittenFiles(event)
	if len(files) == 0 {
		return nil
	}
	at, err := locate(e, event)
	if err != nil || at.folder == "" {
		return err
	}
	changes, err := describe(at.folder, at, files, e.Now())
	if err != nil || len(changes) == 0 {
		return err
	}
	return recordChanges(ctx, at.store(e), changes)
}

// describe returns an untracked change for each file. The change names the section of the project's
// spec that describes the file. describe leaves out files that no section describes, files outside
// the project, and the workflow's own documents.
func describe(folder string, at eventProject, files []string, now time.Time) ([]workflow.UntrackedChange, error) {
	m, err := spec.ReadMapping(folder)
	if err != nil {
		return nil, err
	}
	s, err := spec.Read(folder)
	if err != nil {
		return nil, err
	}
	var changes []workflow.UntrackedChange
	for _, file := range files {
		name, ok := at.relative(file)
		if !ok {
			continue
		}
		if section, ok := s.OfFile(name, m); ok {
			changes = append(changes, workflow.UntrackedChange{
				File: name, Section: strings.TrimPrefix(section.Alias, "#"), SectionNumber: section.Number,
				Timestamp: timestamp.Format(now),
			})
		}
	}
	return changes, nil
}

// recordChanges stores the changes in the workflow's state file. If a command of the workflow, such
// as evolve, is in progress, recordChanges does nothing, because such a command is expected to
// write files. recordChanges first checks for a command without locking the state file. If it finds
// none, it locks the file and checks again.
func recordChanges(ctx context.Context, s *workflow.Store, changes []workflow.UntrackedChange) error {
	if state, err := s.Load(); err == nil && !state.Get("currentCommand").Absent() {
		return nil
	}
	return s.Update(ctx, func(root *jsontree.Node) error {
		if !root.Get("currentCommand").Absent() {
			return nil
		}
		for _, c := range changes {
			if err := workflow.AddUntracked(root, c); err != nil {
				return err
			}
		}
		return nil
	})
}
