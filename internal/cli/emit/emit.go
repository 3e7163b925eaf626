// Package emit implements the command 'gaffer emit': it adds an event to a project's
// activity feed.
package emit

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/state"
	"gaffer/internal/exit"
	"gaffer/statefile"
	"gaffer/workflow"
)

// New creates the command 'gaffer emit'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "emit KIND",
		Short: "Add an event to the activity feed",
		Long: `Add an event to the activity feed in .fctry/state.json.

A value that is a JSON number, array, object, true, false or null is taken as
that, any other as a string. Fields of a known kind must have their type; a kind
that gaffer does not know is kept as it is. Kinds:
  ` + strings.Join(workflow.Kinds(), "\n  "),
		Example: `  gaffer emit chunk-started --field "chunk=Chunk 3: DAG" --field attempt=1
  gaffer emit chunk-verified --field chunk=3 --field mode=full --field 'checks=[{"name": "builds", "result": "pass"}]'
  echo '{"chunk": "Chunk 3", "isolationMode": "subagent"}' | gaffer emit context-boundary --data -`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: workflow.Kinds(),
	}
	fields := cmd.Flags().StringArray("field", nil, "a field of the event, as `KEY=VALUE`; may be repeated")
	data := cmd.Flags().String("data", "", "more fields, as a JSON object; - reads it from stdin")
	asJSON := cmd.Flags().Bool("json", false, "print the event as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		draft, err := read(cmd.Context(), e, args[0], *fields, *data)
		if err != nil {
			return err
		}
		s, err := state.Open(e)
		if err != nil {
			return err
		}
		event, err := s.Emit(cmd.Context(), draft)
		if err != nil || !*asJSON {
			return err
		}
		return e.PrintJSON(event)
	}
	return cmd
}

func read(ctx context.Context, e *env.Env, kind string, fields []string, data string) (workflow.Draft, error) {
	draft := workflow.Draft{Kind: kind}
	for _, typed := range fields {
		name, value, ok := strings.Cut(typed, "=")
		if !ok || name == "" {
			return draft, exit.Usage(fmt.Errorf("--field %q is not KEY=VALUE", typed))
		}
		field, err := workflow.TextField(kind, name, value)
		if err != nil {
			return draft, err
		}
		draft.Fields = append(draft.Fields, field)
	}
	more, err := readFields(ctx, e, data)
	draft.Fields = append(draft.Fields, more...)
	return draft, err
}

// readFields parses the event's fields. data is the value of the flag --data: the fields as a JSON
// object, or "-" if the object is on stdin. If data is empty, readFields returns no fields.
func readFields(ctx context.Context, e *env.Env, data string) ([]workflow.Field, error) {
	if data == "" {
		return nil, nil
	}
	text := []byte(data)
	if data == "-" {
		var err error
		if text, err = e.ReadIn(ctx, statefile.MaxSize); err != nil {
			return nil, fmt.Errorf("read stdin: %w", err)
		}
	}
	fields, err := workflow.ParseFields(text)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	return fields, nil
}
