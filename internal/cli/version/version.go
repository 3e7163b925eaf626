// Package version implements the command 'gaffer version'.
package version

import (
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
)

// A release build sets these variables with -ldflags "-X gaffer/internal/cli/version.commit=…". In
// other builds they are empty. Then the function describe uses the commit and time that the go
// command may have recorded in the binary.
var (
	commit string
	date   string // time of the commit, in RFC 3339
)

// info describes the gaffer binary for bug reports.
type info struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// New creates the command 'gaffer version'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version of this binary",
		Example: "  gaffer version\n  gaffer version --json | jq -r .commit",
		Args:    cobra.NoArgs,
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error { return run(e, *asJSON) }
	return cmd
}

func run(e *env.Env, asJSON bool) error {
	build, _ := debug.ReadBuildInfo()
	v := describe(e.Version, commit, date, build)
	if asJSON {
		return e.PrintJSON(v)
	}
	return e.Printf("%s\n", v)
}

// String returns one line, such as "gaffer 0.1.0 (434e32d20d6a, 2026-11-18) go1.26.8 linux/amd64".
func (v info) String() string {
	text := "gaffer " + v.Version
	if v.Commit != "" {
		text += " (" + v.Commit[:min(12, len(v.Commit))]
		if v.Date != "" {
			text += ", " + v.Date[:min(len(time.DateOnly), len(v.Date))]
		}
		if v.Modified {
			text += ", modified"
		}
		text += ")"
	}
	return text + " " + v.Go + " " + v.Platform
}

// modifiedSuffix is the end of the variable commit if the release was built from files with
// uncommitted changes.
const modifiedSuffix = "-modified"

// describe returns the version of this binary and how it was built. If a release build has not set
// the commit, describe uses the commit that the go command records when it builds inside a
// repository. build may be nil.
func describe(version, commit, date string, build *debug.BuildInfo) info {
	v := info{Version: version, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	v.Commit, v.Modified = strings.CutSuffix(commit, modifiedSuffix)
	if commit != "" || build == nil {
		return v
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
