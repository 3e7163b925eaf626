package version

import (
	"runtime"
	"runtime/debug"
	"testing"
)

const (
	releaseCommit = "434e32d20d6a0f6c1f3d1c0a5a7f9b2e8d4c6b10"
	recorded      = "9c017e2b8a5f7d3e1b6c4a2f0e9d8c7b6a5f4e3d"
)

// checkout is what the go command records when it builds in a repository with changed files.
func checkout() *debug.BuildInfo {
	return &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: recorded},
		{Key: "vcs.time", Value: "2026-11-17T08:00:00Z"},
		{Key: "vcs.modified", Value: "true"},
	}}
}

func TestTheVersionNamesTheCommitAndItsDate(t *testing.T) {
	end := " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	for _, test := range []struct {
		name, commit, date string
		build              *debug.BuildInfo
		want               string
	}{
		{"a release", releaseCommit, "2026-11-18T07:18:08Z", nil, "gaffer 1.2.3 (434e32d20d6a, 2026-11-18)"},
		{"a release of changed files", releaseCommit + "-modified", "2026-11-18T07:18:08Z", nil, "gaffer 1.2.3 (434e32d20d6a, 2026-11-18, modified)"},
		{"a release says more than the go command", releaseCommit, "2026-11-18T07:18:08Z", checkout(), "gaffer 1.2.3 (434e32d20d6a, 2026-11-18)"},
		{"go build in a checkout", "", "", checkout(), "gaffer 1.2.3 (9c017e2b8a5f, 2026-11-17, modified)"},
		{"go build without a repository", "", "", &debug.BuildInfo{}, "gaffer 1.2.3"},
		{"no build information", "", "", nil, "gaffer 1.2.3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := describe("1.2.3", test.commit, test.date, test.build).String(); got != test.want+end {
				t.Errorf("got %q, want %q", got, test.want+end)
			}
		})
	}
}
