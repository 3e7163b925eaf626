// Package team is the commands 'gaffer team …': a project manager, developers,
// QA and a tech lead, and the messages between them.
package team

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/statefile"
	"gaffer/team"
)

// New makes the group.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "team",
		Short: "A team: groups of tasks, who works on them, messages",
		Long: `Keep the state of a team: a project manager, developers, QA and a tech lead.

The documents live in coordination and are shared with agents and scripts.`,
		Example: `  gaffer team init "Add password reset"
  gaffer team show
  gaffer team message send --from developer --to qa_expert --group A --subject "Ready for QA"`,
	}
	cmd.AddCommand(initCommand(e), showCommand(e), messageCommand(e), archiveCommand(e))
	return cmd
}

// open returns the project's team.
func open(e *env.Env) (*team.Store, error) {
	c, err := e.Config()
	if err != nil {
		return nil, err
	}
	return team.Open(c.Path("paths.team"), team.Options{
		Now:         e.Now,
		LockTimeout: c.Duration("lock_timeout"),
		Notice:      func(n statefile.Notice) { e.Talk("gaffer: %s", env.Printable(n.Text)) },
	}), nil
}
