package hookevents

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/caller"
	"gaffer/internal/project/statedir"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// Environment holds the input, environment and clock of a hook.
type Environment struct {
	In     io.Reader
	Getenv func(string) string
	Now    func() time.Time
}

// Call is one call of a hook, and its result.
type Call struct {
	Program string
	Raw     jsontree.Value
	Event   Event
	Folder  Folder
	Session Session
	Actions []Action // actions still to be performed
}

// Take reads the event of a call and stores it in the document of its session. If
// storing fails, the call may still have actions.
//
// The event is on the input, or the last argument of the hook: Codex passes it so to
// its notify program.
func Take(ctx context.Context, from Environment, program string, words []string) (*Call, error) {
	c := &Call{Program: program}
	in := from.In
	if n := len(words); n > 0 && strings.HasPrefix(words[n-1], "{") {
		in = bytes.NewReader([]byte(words[n-1]))
	}
	var err error
	if c.Raw, err = ReadEvent(in); err != nil {
		return c, err
	}
	c.Event = Read(program, c.Raw)
	return c, c.note(ctx, from)
}

// note applies the event to the document of its session.
func (c *Call) note(ctx context.Context, from Environment) error {
	state, err := statedir.Path(from.Getenv)
	if err != nil {
		return err
	}
	if c.Event.Session == "" {
		return nil
	}
	process := Caller(c.Program)
	fold := func(s Session) Session {
		s, c.Actions = Fold(s, c.Event, from.Now().UTC())
		s.Attempt = from.Getenv(caller.AttemptVar)
		if process.PID > 0 || s.Process.PID == 0 {
			s.Process = process
		}
		return s
	}
	c.Folder = In(state)
	c.Session, err = c.Folder.Update(ctx, c.Program, c.Event.Session, fold)
	if err != nil && c.Actions == nil {
		c.Session = fold(Session{})
	}
	if err != nil {
		return fmt.Errorf("note the event: %w", err)
	}
	return nil
}

// Caller returns the process of the program's agent that has started this process, or
// the zero value if it is unknown.
func Caller(program string) host.Process {
	pid := agentproc.Ancestor(program)
	if pid == 0 {
		return host.Process{}
	}
	p, err := host.Identify(pid)
	if err != nil {
		return host.Process{}
	}
	return p
}
