// Package session implements the commands 'gaffer session …': they read and change session
// documents. A session document records the status of a group of agents.
package session

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
	"gaffer/session"
	"gaffer/statefile"
)

// New creates the command group 'gaffer session'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Sessions: their agents, status and results",
		Long: `Keep the status of sessions: their waves, agents and logs.

The documents live in .founder-mode/status and are shared with programs in
other languages. The word 'active' stands for the id of the newest session.`,
		Example: `  id=$(gaffer session new --source orchestrate --source-file plan.md --agents agents.json)
  gaffer session start $id 001 --pid $$
  gaffer session complete $id 001
  gaffer session show`,
	}
	cmd.AddCommand(
		newCommand(e), startCommand(e), completeCommand(e), failCommand(e), cancelCommand(e),
		finishCommand(e), showCommand(e), listCommand(e), cleanCommand(e),
	)
	return cmd
}

// Open returns the store of the project's sessions.
func Open(e *env.Env) (*session.Store, error) {
	c, err := e.Config()
	if err != nil {
		return nil, err
	}
	p, err := e.Project()
	if err != nil {
		return nil, err
	}
	root := c.Path("paths.session")
	return session.New(root, session.Options{
		Now:         e.Now,
		LockTimeout: c.Duration("lock_timeout"),
		LogPrefix:   relative(p.Root, root),
		Notice:      func(n statefile.Notice) { e.Talk("gaffer: %s", display.Printable(n.Text)) },
	}), nil
}

// relative returns path relative to base, or path itself if it is not below base.
func relative(base, path string) string {
	rel, err := filepath.Rel(base, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		rel = path
	}
	return filepath.ToSlash(rel)
}

// openAt returns the store of the project's sessions, and the id of a session. If id is "active",
// it returns the id of the active session. It returns any other id unchanged.
func openAt(e *env.Env, id string) (*session.Store, string, error) {
	s, err := Open(e)
	if err == nil && id == "active" {
		id, err = s.Active()
	}
	return s, id, err
}
