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

// Environment holds what a hook gets from outside: its input, its environment variables and a
// clock.
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
	Actions []Action // actions that the caller must perform
}

// HandleCall reads the event of one call of a hook, and applies it to the stored session. It
// ignores an event that names no session. HandleCall never returns nil. Even if it cannot store the
// session, the result may contain actions, which the caller must perform.
//
// The event is on stdin, with one exception: Codex passes it to its notify program as the last
// argument.
func HandleCall(ctx context.Context, environment Environment, program string, arguments []string) (*Call, error) {
	c := &Call{Program: program}
	in := environment.In
	if n := len(arguments); n > 0 && strings.HasPrefix(arguments[n-1], "{") {
		in = bytes.NewReader([]byte(arguments[n-1]))
	}
	var err error
	if c.Raw, err = ReadEvent(in); err != nil {
		return c, err
	}
	c.Event = ParseEvent(program, c.Raw)
	state, err := statedir.Path(environment.Getenv)
	if err != nil || c.Event.Session == "" {
		return c, err
	}
	process := Caller(c.Program)
	apply := func(s Session) Session {
		s, c.Actions = Apply(s, c.Event, environment.Now().UTC())
		s.Attempt = environment.Getenv(caller.AttemptVar)
		if process.PID > 0 || s.Process.PID == 0 {
			s.Process = process
		}
		return s
	}
	c.Folder = NewFolder(state)
	c.Session, err = c.Folder.Update(ctx, c.Program, c.Event.Session, apply)
	if err != nil && c.Actions == nil {
		c.Session = apply(Session{})
	}
	if err != nil {
		return c, fmt.Errorf("note the event: %w", err)
	}
	return c, nil
}

// Caller returns the process of the agent that started this process, directly or indirectly. The
// parameter program names the agent program, such as codex. If no ancestor of this process runs
// that program, Caller returns the zero value.
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
