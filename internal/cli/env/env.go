// Package env is what every command is given: the streams, the clock, the
// environment, and the project and settings found from them.
//
// A command writes its result to Out and everything else to Err, so that a
// result can always be piped into another program.
package env

import (
	"io"
	"os"
	"time"

	"gaffer/internal/config"
	"gaffer/internal/project"
)

// Env is the world as one run of gaffer sees it. Nothing in the command tree
// reaches for the process's own streams, variables or clock.
type Env struct {
	In      io.Reader
	Out     io.Writer // results
	Err     io.Writer // talk
	Getenv  func(string) string
	Dir     string // where the command runs
	Now     func() time.Time
	Version string

	flags   globalFlags
	project *project.Project
	config  *config.Config
	caller  *callerOf // nil before it was looked for
}

// System is the environment of this process. In a folder that was deleted Dir
// is empty, and only the commands that need a folder fail.
func System(version string) *Env {
	dir, _ := os.Getwd()
	return &Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Getenv: os.Getenv, Dir: dir, Now: time.Now, Version: version,
	}
}

// Project finds the project once: --project, then GAFFER_PROJECT, then the
// folder that the command runs in.
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

// Config reads the settings once. Commands that need none do not call it, so
// that 'gaffer version' works beside a broken gaffer.yaml.
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
