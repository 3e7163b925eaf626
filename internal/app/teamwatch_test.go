package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/flow/teamsession"
	"gaffer/internal/testkit/testenv"
	"gaffer/statefile"
	"gaffer/team"
)

// together has the scripts of four developers that finish when a file appears.
const together = `
== pm-1
say {"status":"PLANNED","mode":"parallel","mode_reasoning":"four parts","tasks":[{"id":"T1","description":"a"},{"id":"T2","description":"b"},{"id":"T3","description":"c"},{"id":"T4","description":"d"}],"groups":[{"id":"A","name":"Part A","tasks":["T1"]},{"id":"B","name":"Part B","tasks":["T2"]},{"id":"C","name":"Part C","tasks":["T3"]},{"id":"D","name":"Part D","tasks":["T4"]}]}
== ?-developer-*
tool echo made > $GAFFER_TASK.txt && git add --all && git commit -qm Made && touch {dir}/$GAFFER_TASK.waits
tool until [ -e {dir}/go ]; do sleep 0.01; done
say {"status":"READY_FOR_QA","summary":["it is made"]}
== ?-qa-1
say {"status":"PASS","summary":["all is well"]}
== ?-tech-lead-1
say {"status":"APPROVED","feedback":"clean"}
== pm-2
say {"status":"COMPLETE"}
`

// waiting waits until n agents wait for the file named go.
func (c crew) waiting(n int) {
	c.t.Helper()
	testenv.WaitFor(c.t, fmt.Sprintf("%d waiting agents", n), func() []string {
		list, _ := filepath.Glob(filepath.Join(c.dir, "*.waits"))
		return list
	}, func(list []string) bool { return len(list) == n })
}

func (c crew) release() {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func TestTheDocumentsAreValidAtEveryMomentWhenFourDevelopersFinishTogether(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	c := newCrew(t, together)
	a := c.open()
	run := c.begin(a, teamsession.Request{}).Run
	stop, problems := make(chan struct{}), make(chan []string)
	go func() { problems <- c.readUntil(stop) }()
	wait := c.background(a, run)
	c.waiting(4)
	testenv.WaitFor(t, "four active developers", c.session, func(s team.Snapshot) bool {
		return len(s.Orchestrator.ActiveAgents) == 4 && s.Orchestrator.CurrentPhase == team.DeveloperWorking
	})
	c.release()
	r := wait()
	close(stop)
	for _, p := range <-problems {
		t.Error(p)
	}
	c.completed(r)
	c.startedOnce(r)
	c.valid()
}

// readUntil reads all documents again and again until stop is closed. It returns the problems that
// it found.
func (c crew) readUntil(stop <-chan struct{}) (problems []string) {
	reads := 0
	for {
		for _, d := range team.Documents() {
			path := filepath.Join(c.coordination(), d.Path())
			data, err := os.ReadFile(path)
			if err != nil {
				problems = append(problems, err.Error())
			}
			for _, f := range team.ValidateDocument(d, path, data) {
				if f.Severity == statefile.Invalid || f.Severity == statefile.Irregular {
					problems = append(problems, fmt.Sprintf("%v\n%s", f, data))
				}
			}
			reads++
		}
		select {
		case <-stop:
			if reads < 1000 {
				problems = append(problems, fmt.Sprintf("there were %d reads only", reads))
			}
			return problems[:min(len(problems), 5)]
		case <-time.After(100 * time.Microsecond): // leaves CPU time for the agents
		}
	}
}

func TestTheProtocolsCommandsForWatchingWorkDuringARun(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	c := newCrew(t, together)
	a := c.open()
	run := c.begin(a, teamsession.Request{}).Run
	c.watch("null", "null", "initialization", "0")
	wait := c.background(a, run)
	c.waiting(4)
	testenv.WaitFor(t, "four active agents", c.session, func(s team.Snapshot) bool { return len(s.Orchestrator.ActiveAgents) == 4 })
	iteration := c.session().PM.Iteration
	c.watch("parallel", "dev_working", "developer_working", fmt.Sprint(iteration))
	c.release()
	c.completed(wait())
	c.watch("parallel", "complete", "completed", fmt.Sprint(c.session().PM.Iteration))
}

// watch runs the commands that the protocol gives for watching a session, as a user would type them
// in the project. It fails unless they print these values.
func (c crew) watch(mode, status, phase, iteration string) {
	c.t.Helper()
	for command, want := range map[string]string{
		"cat coordination/pm_state.json | jq . | jq -r .mode":                                                  mode,
		"cat coordination/group_status.json | jq '.A' | jq -r '.status?'":                                      status,
		"cat coordination/orchestrator_state.json | jq .current_phase":                                         fmt.Sprintf("%q", phase),
		"jq .current_phase coordination/orchestrator_state.json":                                               fmt.Sprintf("%q", phase),
		"cat coordination/pm_state.json | jq .iteration":                                                       iteration,
		"for d in coordination/*.json coordination/messages/*.json; do jq -e . $d || exit 1; done | tail -n 1": "}",
	} {
		cmd := exec.Command("bash", "-o", "pipefail", "-c", command)
		cmd.Dir = c.root
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			c.t.Errorf("%s\nprints %q, %v, want %q", command, got, err, want)
		}
	}
}
