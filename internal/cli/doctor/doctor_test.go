package doctor

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/app/doctor"
	"gaffer/internal/cli/env"
)

func TestDoctorOutput(t *testing.T) {
	var out bytes.Buffer
	e := &env.Env{Out: &out, Err: &out, Dir: t.TempDir(), Getenv: func(string) string { return "" }}
	err := show(e, doctor.Health{
		Database: "/s/gaffer.db",
		Agents:   []doctor.Agent{{Name: "claude", Program: "claude", Path: "/bin/claude", Version: "2.1\x1b[31m"}, {Name: "codex", Program: "codex"}},
		Holding:  []doctor.RunningAttempt{{Run: "r", Task: "api", PID: 7, Age: 4 * time.Minute, State: "running"}},
		Orphans:  []doctor.Orphan{{PID: 9, Attempt: "x", Command: "sleep\n60"}},
		Limits:   []string{"Tools that leave their group are not found."},
		Advice:   []string{"End what is orphaned with 'gaffer doctor --repair'."},
	})
	want := `database  /s/gaffer.db
Agent   Here             Version   Program
claude  ✓                2.1�[31m  /bin/claude
codex   ✗ not installed  -         codex
Holds a slot  Task  PID  Age     State    Looked after
r             api   7    4m 00s  running  by no process
orphaned: pid 9 of attempt x: sleep 60
limit: Tools that leave their group are not found.
advice: End what is orphaned with 'gaffer doctor --repair'.
`
	if diff := cmp.Diff(want, out.String()); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}
