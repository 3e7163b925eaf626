// Package version implements the command 'gaffer version'.
package version

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
)

// info describes the gaffer binary for bug reports.
type info struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// New creates the command.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version of this binary",
		Example: "  gaffer version\n  gaffer version --json | jq -r .revision",
		Args:    cobra.NoArgs,
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error { return run(e, *asJSON) }
	return cmd
}

func run(e *env.Env, asJSON bool) error {
	v := readBuildInfo(e.Version)
	if asJSON {
		return e.PrintJSON(v)
	}
	return e.Printf("%s\n", v)
}

func (v info) String() string {
	text := "gaffer " + v.Version
	if v.Revision != "" {
		text += " (" + v.Revision[:min(12, len(v.Revision))]
		if v.Modified {
			text += ", modified"
		}
		text += ")"
	}
	return text + " " + v.Go + " " + v.Platform
}

// readBuildInfo returns facts about this binary, such as the git revision that the go command
// records if it builds the binary inside a repository.
func readBuildInfo(version string) info {
	v := info{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
