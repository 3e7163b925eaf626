// Package env provides the environment of a command: streams, clock, variables, the
// project and the settings.
//
// A command writes its result to Out and everything else to Err, so that the result can
// be piped into another program.
package env

import (
	"io"
	"os"
	"time"

	"gaffer/internal/config"
	"gaffer/internal/project"
)

// Env is the environment of one command. Commands use it instead of the streams, variables and
// clock of the process, so that tests can replace these.
type Env struct {
	In      io.Reader
	Out     io.Writer // receives the result of the command
	Err     io.Writer // receives messages to the user
	Getenv  func(string) string
	Dir     string // the current folder of the command
	Now     func() time.Time
	Version string

	flags   globalFlags
	project *project.Project
	config  *config.Config
	caller  *cachedAgent // result of the method Agent; nil until Agent is called
}

// System returns the environment of this process. If the current folder was deleted, Dir is empty,
// and only commands that need a current folder fail.
func System(version string) *Env {
	dir, _ := os.Getwd()
	return &Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Getenv: os.Getenv, Dir: dir, Now: time.Now, Version: version,
	}
}

// Project finds the project and caches it. The project comes from --project, from GAFFER_PROJECT,
// or from the current folder, in this order.
func (e *Env) Project() (project.Project, error) {
	if e.project != nil {
		return *e.project, nil
	}
	p, err := e.findProject()
	if err != nil {
		return project.Project{}, err
	}
	e.project = &p
	return p, nil
}

func (e *Env) findProject() (project.Project, error) {
	if e.flags.project != "" {
		return project.At(e.Path(e.flags.project), "--project")
	}
	return project.Find(e.Dir, e.Getenv)
}

// Config reads the settings and caches them. A command that needs no settings does not call Config,
// so that 'gaffer version' works even if gaffer.yaml is broken.
func (e *Env) Config() (*config.Config, error) {
	if e.config != nil {
		return e.config, nil
	}
	p, err := e.Project()
	if err != nil {
		return nil, err
	}
	c, err := config.Load(config.Inputs{Root: p.Root, Getenv: e.Getenv, Flags: e.flags.settings})
	if err != nil {
		return nil, err
	}
	e.config = c
	return c, nil
}

// AtProject returns a copy of e for a command in the project whose root folder is root. The copy
// does not have the command-line flags that were given for e.
func (e *Env) AtProject(root string) *Env {
	other := *e
	other.Dir, other.flags, other.project, other.config = root, globalFlags{project: root}, nil, nil
	return &other
}
