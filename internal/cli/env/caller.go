package env

import (
	"os"
	"path/filepath"

	"gaffer/internal/byhand/caller"
	"gaffer/internal/project/statedir"
)

// cachedAgent holds the result of findAgent. agent is nil if a user started the command.
type cachedAgent struct{ agent *caller.Agent }

// Agent returns the agent that started this command, or nil if a user did.
//
// Agent looks for the agent among the ancestor processes of this command. It ignores an agent if
// the command works on another fleet (the runs in one database or on one server) than the agent's
// user: an agent may use gaffer without restrictions in a fleet of its own, for example in a test.
// If it finds no agent among the ancestors, Agent looks for one in the command's own environment
// variables.
func (e *Env) Agent() *caller.Agent {
	if e.caller == nil {
		e.caller = &cachedAgent{e.findAgent()}
	}
	return e.caller.agent
}

func (e *Env) findAgent() *caller.Agent {
	for _, a := range caller.Ancestors(os.Getpid()) {
		if e.isFleetOf(a.Getenv) {
			return &a
		}
	}
	return caller.Current(e.Getenv)
}

// AgentName returns the name of the agent that started this command, or "" if a user started it.
func (e *Env) AgentName() string {
	if a := e.Agent(); a != nil {
		return a.Name()
	}
	return ""
}

// isFleetOf reports whether this command works on the same fleet as an agent's user. That is so if
// the command uses the state folder, the database or the token of that user. If this is unknown,
// isFleetOf returns true. getenv returns the value of a variable in the agent's environment.
func (e *Env) isFleetOf(getenv func(string) string) bool {
	theirs, err := statedir.Path(getenv)
	if err != nil {
		return true // the agent's state folder is unknown: assume the same fleet
	}
	ours, err := e.StateDir()
	if err != nil {
		return true
	}
	theirs = resolved(theirs)
	isTheirs := func(path string) bool {
		rel, err := filepath.Rel(theirs, resolved(path))
		return err == nil && filepath.IsLocal(rel)
	}
	if isTheirs(ours) {
		return true
	}
	c, err := e.Config()
	if err != nil {
		return true
	}
	db, token, file := c.Database("db"), e.Getenv("GAFFER_TOKEN"), e.TokenFile()
	return db != "" && (isTheirs(db) || db == getenv("GAFFER_DB")) ||
		token != "" && token == getenv("GAFFER_TOKEN") ||
		file != "" && (isTheirs(file) || resolved(file) == resolved(getenv("GAFFER_TOKEN_FILE")))
}

// resolved returns a path with its symbolic links resolved. If the path does not exist, it resolves
// the links in the part that exists.
func resolved(path string) string {
	for rest := ""; ; {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(target, rest)
		}
		dir := filepath.Dir(path)
		if dir == path {
			return filepath.Join(path, rest)
		}
		path, rest = dir, filepath.Join(filepath.Base(path), rest)
	}
}

// RefuseAgents returns an error if an agent started the command. Commands that only the user may
// run call it. command is the name of the command in the error, such as "gaffer answer".
func (e *Env) RefuseAgents(command string) error {
	a := e.Agent()
	if a == nil {
		return nil
	}
	return &caller.RefusedError{What: command, Agent: a.Name()}
}
