package conformance

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
)

func TestTheReferenceMeetsEveryRequirement(t *testing.T) {
	t.Parallel()
	Run(t, newReference(t, ""))
}

// mutants are ways in which the reference server breaks a requirement. For each of them, the test
// of that requirement must fail.
var mutants = []struct{ broken, requirement string }{
	{"health needs a token", "health needs no token"},
	{"no tokens", "a request without a token is refused"},
	{"any token", "a request with a wrong token is refused"},
	{"no token in the address", "a token in the address is enough to read"},
	{"no API keys", "a token is accepted as an API key too"},
	{"writes by address", "a token is accepted as an API key too"},
	{"any claude status", "a claude status that is not known is refused"},
	{"no sequence by itself", "a task without a sequence is appended to its chain"},
	{"oldest event first", "events are listed newest first"},
	{"anyone is assigned", "a task is assigned to one agent"},
	{"status stays", "a user sets the status of a task in progress"},
	{"chains stay", "a chain is read, changed and deleted"},
	{"owners are ignored", "only the owner of a chain claims its tasks"},
	{"sessions have no token", "a session is requested of a channel's agents"},
	{"any session token", "a session is requested of a channel's agents"},
	{"nothing is dismissed", "an agent that waits for a session causes a notification until it is dismissed"},
	{"no token in the address", "the stream takes its token from the address too"},
	{"writes by address", "a token in the address is not enough to change anything"},
	{"echoes the token", "an error never holds the token"},
	{"plain 404", "an unknown route is 404 in the format of all errors"},
	{"wrong method is 404", "a wrong method is 405"},
	{"lenient JSON", "a body that is not JSON is 400"},
	{"one id for all", "a heartbeat without an agent id creates an agent"},
	{"meta is dropped", "a heartbeat is returned as it was sent"},
	{"times are numbers", "a heartbeat is returned as it was sent"},
	{"no worker status", "a heartbeat is returned as it was sent"},
	{"every heartbeat is new", "a heartbeat of a known agent creates no second agent"},
	{"status is ignored", "a missing claude status falls back to the status of old clients"},
	{"status first", "the claude status has precedence over the status"},
	{"seen once", "a heartbeat sets when an agent was last seen"},
	{"empty current task", "the current task is returned, or 404 if there is none"},
	{"channels are added", "an agent's channels are set as a whole"},
	{"any channel by name", "channels are created, listed and found by name"},
	{"names taken twice", "the name of a channel is unique"},
	{"untitled tasks", "a task needs a title and an existing channel"},
	{"nothing waiting is 200", "a claim without a queued task is 404 no_tasks"},
	{"no channel names in claims", "a claim names a channel by its id or its name"},
	{"any channel's tasks", "a claim takes no task of another channel"},
	{"first come", "the highest priority is first, then the oldest task"},
	{"no keys for claims", "the same idempotency key gives the same task"},
	{"claims leave tasks queued", "concurrent claims get different tasks"},
	{"claim sets running", "claiming and ending a task do not change the agent"},
	{"claim sets running", "scenario 2: worker running, task executing"},
	{"the end sets idle", "claiming and ending a task do not change the agent"},
	{"anyone ends a task", "a completed task is done, and completing it again is no error"},
	{"ending again is refused", "a completed task is done, and completing it again is no error"},
	{"ending again is refused", "a failed task is failed, and failing it again is no error"},
	{"failed is done", "a failed task is failed, and failing it again is no error"},
	{"chains by priority", "the tasks of a chain are claimed in order, one at a time"},
	{"chains side by side", "the tasks of a chain are claimed in order, one at a time"},
	{"last input first", "inputs are delivered once and in order"},
	{"inputs again and again", "inputs are delivered once and in order"},
	{"inputs are 200", "inputs are delivered once and in order"},
	{"no keys for inputs", "the same idempotency key gives the same input"},
	{"inputs for anyone", "an input is not delivered to another agent"},
	{"any kind of input", "an input needs an existing task and a known kind"},
	{"no keys for events", "an event sent twice with one key is stored once"},
	{"deduped is 201", "an event sent twice with one key is stored once"},
	{"events without type", "an event needs a type"},
	{"dashboard without chains", "the dashboard has everything at a glance"},
	{"no hello", "the stream says hello and then every kind of change"},
	{"no change on the stream", "the stream says hello and then every kind of change"},
	{"inputs are not streamed", "the stream says hello and then every kind of change"},
	{"no ids on the stream", "the numbers of the stream only grow"},
	{"no replay", "the stream continues after the event id in the header"},
	{"replay repeats", "the stream continues after the event id in the header"},
	{"hello skips", "the stream continues after the event id in the header"},
	{"no last id in the address", "the stream continues after the event id in the address"},
	{"no ping", "the stream pings"},
	{"offline at 29 s", "scenario 3: worker crashed"},
	{"online at 30 s", "scenario 3: worker crashed"},
	{"offline is idle", "scenario 3: worker crashed"},
	{"always online on the dashboard", "scenario 3: worker crashed"},
	{"a question sets waiting", "scenario 4: interactive prompt"},
	{"an answer sets running", "scenario 4: interactive prompt"},
	{"one listener only", "all readers of the stream get the same changes"},
	{"missing is 400", "an unknown agent is 404"},
	{"missing is 400", "an unknown task is 404"},
	{"unlisted chains", "chains are created and listed"},
	{"unlisted channels", "channels are created, listed and found by name"},
	{"dropped execution_mode", "a task is queued and listed as it was sent"},
	{"dropped priority", "a task is queued and listed as it was sent"},
	{"another word for no inputs", "a task without inputs is 404 no_inputs"},
	{"dropped payload", "an event is stored as it was sent"},
	{"unlisted events", "an event is stored as it was sent"},
	{"seen once", "scenario 1: worker running, no task"},
}

func TestThePageNamesEveryRoute(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/protocols/coordinator.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range slices.Concat(routes, newerRoutes) {
		path := strings.Replace(r.path, "by-name/{id}", "by-name/{name}", 1)
		row := regexp.MustCompile("(?m)^\\| .*`" + r.method + "\\b.* " + regexp.QuoteMeta(path) + "`.*\\|$")
		if !row.Match(page) {
			t.Errorf("no row of the page has %s %s", r.method, path)
		}
	}
}

const brokenVar = "CONFORMANCE_BROKEN"

// Each mutant runs in a separate process, because its failing test would make this test fail too.
func TestTheSuiteFailsOnABrokenServer(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.broken+" "+m.requirement, func(t *testing.T) {
			requirement := strings.ReplaceAll(m.requirement, " ", "_")
			cmd := exec.Command(os.Args[0], "-test.run", "^TestTheBrokenReference$/^"+regexp.QuoteMeta(requirement)+"$", "-test.timeout=2m")
			cmd.Env = append(os.Environ(), brokenVar+"="+m.broken)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestTheBrokenReference/"+requirement) {
				t.Errorf("the suite did not notice: %v\n%s", err, out)
			}
			if strings.Contains(string(out), "panic:") {
				t.Errorf("the suite or its reference fell over:\n%s", out)
			}
		})
	}
}

// TestTheBrokenReference runs in the processes that the test above starts. Without the
// environment variable no requirement is broken, and the suite must pass.
func TestTheBrokenReference(t *testing.T) {
	t.Parallel()
	target := newReference(t, os.Getenv(brokenVar))
	target.Patience = 3 * time.Second
	if os.Getenv(brokenVar) == "" {
		target.Patience = 0
	}
	Run(t, target)
}

func TestEveryRequirementHasAMutant(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, m := range mutants {
		covered[m.requirement] = true
	}
	known := map[string]bool{}
	for _, group := range [][]requirement{accessPromises, agentPromises, workPromises, inputPromises, newerPromises, streamPromises, scenarioPromises} {
		for _, p := range group {
			known[p.name] = true
			if !covered[p.name] {
				t.Errorf("no mutant breaks %q", p.name)
			}
		}
	}
	for _, m := range mutants {
		if !known[m.requirement] {
			t.Errorf("mutant %q breaks %q, which is no requirement of the suite", m.broken, m.requirement)
		}
	}
}
