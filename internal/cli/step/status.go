package step

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/state"
	"gaffer/internal/cli/table"
	"gaffer/internal/text/display"
	"gaffer/workflow"
)

func statusCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show the current command and the state of its steps",
		Example: "  gaffer step status\n  gaffer step status --json | jq -r .workflowStep",
		Args:    cobra.NoArgs,
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		s, err := state.Open(e)
		if err != nil {
			return err
		}
		now, err := s.State()
		if err != nil {
			return err
		}
		r := workflow.StepReport(now)
		if *asJSON {
			return e.PrintJSON(r)
		}
		return show(e, r)
	}
	return cmd
}

func show(e *env.Env, r workflow.Report) error {
	command := "none"
	if r.Command != "" {
		command = display.Line(string(r.Command), 40)
	}
	if err := e.Printf("Command: %s\n", command); err != nil {
		return err
	}
	rows := [][]string{{"STEP", "STATE", "WAITS FOR"}}
	for _, s := range r.Steps {
		rows = append(rows, []string{display.Line(string(s.Step), 40), s.State, s.WaitsFor()})
	}
	return table.Texts(e, rows)
}
