package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/testkit/testenv"
)

// world is a fleet and a local project. The test injects faults into both.
type world struct {
	t      *testing.T
	fleet  *fleet
	local  *service          // the machine of the local project, which runs plans one after the other
	dir    string            // folder of all files of the world
	mark   string            // variable NAME=VALUE in the environment of all processes of the world
	disks  map[string]string // path of a machine's small disk, by the name of the machine
	watch  *Watch
	report *report

	submit    *Process             // the process that submits a plan to the fleet; nil if none does
	plans     map[string]chaosPlan // all plans, by name
	given     map[string]bool      // names of plans that a coordinator has acknowledged
	cancelled map[string]bool      // ids of the runs that a user has cancelled, or tried to cancel
	resuming  bool                 // the local process resumes a run instead of starting a plan
	users     users

	// There are separate random sources, because the number of plans depends on the machine's speed
	// and must not change the sequence of faults.
	rng, fleetPlans, localPlans *rand.Rand

	under     map[string]fault // active faults, by target
	restarted map[*service]time.Time
	damaged   []damage
	touched   map[string]bool // records and sessions with a document that was damaged or deleted for good

	over       bool // the faults are over, so no more plans are started
	localRests bool // all runs of the local project have ended
}

// The fleet works on 42 tasks at once, and the local project on 8.
const (
	chaosSlots    = 14
	chaosParallel = 8
	enoughOpen    = 60 // no plan is submitted while the fleet has this many open tasks
)

// Sizes of the disks that faults fill.
const (
	workerDisk = "48m"
	localDisk  = "256m"
)

func newWorld(t *testing.T, n uint64) *world {
	t.Helper()
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(n, 0)), fleetPlans: rand.New(rand.NewPCG(n, 1)), localPlans: rand.New(rand.NewPCG(n, 2)), dir: keep(t), mark: fmt.Sprintf("GAFFER_CHAOS=%d-%d", os.Getpid(), n), report: newReport(n),
		disks: map[string]string{}, plans: map[string]chaosPlan{}, given: map[string]bool{}, cancelled: map[string]bool{},
		under: map[string]fault{}, touched: map[string]bool{}, restarted: map[*service]time.Time{},
	}
	w.report.file = filepath.Join(w.dir, "chaos.log")
	program := testenv.Program(t)
	w.fleet = &fleet{
		t: t, network: New(t), marks: sub(t, w.dir, "marks"),
		lease: 8 * time.Second, slots: chaosSlots, also: []string{w.mark}, prepare: w.prepare,
	}
	w.fleet.network.Homes = sub(t, w.dir, "machines")
	if err := os.WriteFile(w.script(), []byte(chaosAgent), 0o755); err != nil {
		t.Fatal(err)
	}
	w.fleet.start(program, 2, 3)
	w.local = w.fleet.service("local", program)
	w.local.env = append(w.local.env, "XDG_STATE_HOME="+filepath.Join(w.localRoot(), "state"))
	for _, dir := range []string{w.project(), filepath.Join(w.localRoot(), "state")} {
		if err := os.MkdirAll(w.local.see(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(w.local.see(filepath.Join(w.project(), "gaffer.yaml")), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	w.watch = WatchVariable(w.mark)
	t.Cleanup(func() {
		w.watch.Stop()
		if t.Failed() {
			w.keepAll()
		}
	})
	w.users.start(t, w.fleet.asks(0))
	return w
}

// prepare mounts a small disk on two of the machines.
func (w *world) prepare(m *Machine) {
	dir, size := "", ""
	switch m.Name {
	case "worker3":
		dir, size = filepath.Join(m.Home, "state"), workerDisk
	case "local":
		dir, size = filepath.Join(m.Home, "disk"), localDisk
	default:
		return
	}
	_ = os.MkdirAll(dir, 0o700) // ignore the error: mount fails if the folder is missing
	if out, err := w.in(m, "mount", "-t", "tmpfs", "-o", "size="+size, "chaos", dir); err != nil {
		w.report.impossible("full disk of "+m.Name, fmt.Sprintf("mount a tmpfs: %v: %s", err, out))
		return
	}
	w.disks[m.Name] = dir
}

// in runs a command in the namespaces of a machine. Network faults do not affect it.
func (w *world) in(m *Machine, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	words := m.inside(argv...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// see returns a path by which this process can access a file of the machine. The process does not
// share the machine's mounts.
func (m *Machine) see(path string) string { return fmt.Sprintf("/proc/%d/root%s", m.pid(), path) }

func (w *world) script() string    { return filepath.Join(w.fleet.marks, "agent.sh") }
func (w *world) localRoot() string { return filepath.Join(w.local.Home, "disk") }
func (w *world) project() string   { return filepath.Join(w.localRoot(), "shop") }

// chaosAgent is a script that is called as agent.sh STEPS HOW. For each step it appends a mark to a
// file of its task. If HOW is "ask", it ends before its question. If HOW is "rest", it does what
// follows the answer.
const chaosAgent = `marks=${0%/*}/$GAFFER_RUN
mkdir -p "$marks"
m() { echo "$1 $GAFFER_ATTEMPT" >>"$marks/$GAFFER_TASK"; sleep 0.5; }
case $2 in
stubborn) trap '' TERM INT HUP ;;
rest) m end; exit 0 ;;
esac
m begin
i=0
while [ $i -lt $1 ]; do m step; echo "step $i of $1"; i=$((i + 1)); done
case $2 in
fail) echo "no luck" >&2; exit 3 ;;
ask) exit 0 ;;
esac
echo "$GAFFER_ATTEMPT" >"$GAFFER_TASK.txt" || exit 4
m end
`

// The kinds of agents: how an agent behaves.
const (
	works    = "work"     // succeeds
	fails    = "fail"     // fails in every attempt
	asks     = "ask"      // asks a question, and succeeds after the answer
	stubborn = "stubborn" // ignores the signals that ask it to end
)

// chaosPlan is what the test knows about a plan that it has written.
type chaosPlan struct {
	How map[string]string // the kind of each task's agent
}

// newPlan writes a plan and returns the path of its file. Most tasks have no dependencies. In the
// local project every question has a default answer, because no user answers it.
func (w *world) newPlan(rng *rand.Rand, local bool, name string) (file string) {
	type task struct {
		ID            string   `json:"id"`
		Agent         string   `json:"agent,omitempty"`
		Prompt        string   `json:"prompt,omitempty"`
		Shell         string   `json:"shell,omitempty"`
		After         []string `json:"after,omitempty"`
		Retries       int      `json:"retries"`
		AnswerTimeout string   `json:"answer_timeout,omitempty"`
		AnswerDefault string   `json:"answer_default,omitempty"`
	}
	p, tasks := chaosPlan{How: map[string]string{}}, []task{}
	for i := range 4 + rng.IntN(8) {
		t := task{ID: fmt.Sprintf("t%02d", i), Retries: 50}
		steps := 1 + rng.IntN(8)
		if rng.IntN(4) == 0 { // let the task take longer than a lease
			steps += 16 + rng.IntN(16)
		}
		how := []string{works, works, works, works, fails, asks, stubborn}[rng.IntN(7)]
		waits := rng.IntN(4) == 0
		for _, before := range tasks {
			if waits && len(t.After) == 0 && p.How[before.ID] != fails {
				t.After = []string{before.ID}
			}
		}
		switch how {
		case fails:
			t.Retries = 1
		case asks:
			t.Agent = "fake"
			t.Prompt = fmt.Sprintf("fake: tool sh %[1]s %[2]d ask\nfake: ask Go on? | yes | no\nfake: tool sh %[1]s 0 rest", w.script(), steps)
			if byDefault := rng.IntN(2) == 0; local || byDefault {
				t.AnswerTimeout, t.AnswerDefault = "3s", "yes"
			}
		}
		if t.Prompt == "" {
			t.Shell = fmt.Sprintf("exec sh %s %d %s", w.script(), steps, how)
		}
		p.How[t.ID] = how
		tasks = append(tasks, t)
	}
	data, err := json.Marshal(map[string]any{"name": name, "parallel": chaosParallel, "tasks": tasks})
	file = filepath.Join(sub(w.t, w.dir, "plans"), name+".json")
	if err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.plans[name] = p
	return file
}

// maintain does what an init system and users would do: it restarts programs that have ended,
// submits plans to the fleet, and starts or resumes runs in the local project.
func (w *world) maintain() {
	for _, s := range slices.Concat(w.fleet.coordinators, w.fleet.workers) {
		if _, broken := w.under[s.Name]; broken || !s.process.Ended() || time.Since(w.restarted[s]) < time.Second {
			continue
		}
		w.report.note("%s has ended by itself (%v): %s", s.Name, s.process.err, lastLine(s.Output(300)))
		w.report.ended[s.Name]++
		w.restarted[s] = time.Now()
		s.start()
	}
	w.maintainFleet()
	w.maintainLocal()
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// maintainFleet submits a plan to the fleet if the fleet has few open tasks.
func (w *world) maintainFleet() {
	if w.submit != nil {
		if !w.submit.Ended() {
			return
		}
		if name := w.lastGiven(); w.submit.err == nil {
			w.given[name] = true
		} else {
			w.report.note("plan %s was not acknowledged: %v", name, w.submit.err)
		}
		w.submit = nil
	}
	if w.over || w.users.open() >= enoughOpen {
		return
	}
	w.report.submitted++
	name := w.lastGiven()
	client := w.fleet.client
	file := w.newPlan(w.fleetPlans, false, name)
	env := client.env(w.mark, "GAFFER_TOKEN="+w.fleet.token, "GAFFER_SERVER="+w.fleet.addresses())
	w.submit = client.Start(env, client.project(), w.local.program, "run", "--detach", file)
}

func (w *world) lastGiven() string { return fmt.Sprintf("fleet-%d", w.report.submitted) }

// maintainLocal starts a plan in the local project. If the gaffer process of a run has ended too
// early, it resumes that run instead.
func (w *world) maintainLocal() {
	if _, broken := w.under[w.local.Name]; broken {
		return
	}
	if p := w.local.process; p != nil {
		if !p.Ended() || time.Since(w.restarted[w.local]) < time.Second {
			return
		}
		w.restarted[w.local] = time.Now()
		code := exitCode(p.err)
		nothingLeft := w.resuming && code == notFound
		switch {
		case w.over && nothingLeft:
			w.localRests = true
			return
		case w.over, code != 0 && code != 1 && !nothingLeft:
			w.resuming = true
			w.local.process = w.local.Start(w.local.env, w.project(), w.local.program, "resume", "--local")
			return
		}
	}
	w.resuming = false
	w.report.localPlans++
	name := fmt.Sprintf("local-%d", w.report.localPlans)
	file := w.newPlan(w.localPlans, true, name)
	w.local.process = w.local.Start(w.local.env, w.project(), w.local.program, "run", "--local", file)
}

// notFound is gaffer's exit code if there is no run to resume.
const notFound = 3

// exitCode returns the exit code of a process, or 128 plus the signal that has ended
// it.
func exitCode(err error) int {
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &ended):
		return -1
	}
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return ended.ExitCode()
}

// users stands for the users of the fleet, who answer questions. It also counts the open tasks.
type users struct {
	client *coordinator.Client

	mu       sync.Mutex
	left     int
	answered int
	runs     []string // ids of the runs that have not ended
}

func (p *users) start(t *testing.T, c *coordinator.Client) {
	t.Helper()
	p.client = c
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			p.look(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
}

// look asks the coordinators for runs and questions, and answers the questions. It ignores errors,
// because the coordinators may be unreachable.
func (p *users) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if list, err := p.client.Questions.List(ctx, ""); err == nil {
		for _, q := range list {
			if p.client.Questions.Answer(ctx, q.ID, "yes", false) == nil {
				p.mu.Lock()
				p.answered++
				p.mu.Unlock()
			}
		}
	}
	_, _ = p.count(ctx)
}

// openNow asks the coordinators how many tasks of the fleet have not ended.
func (p *users) openNow() (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return p.count(ctx)
}

func (p *users) count(ctx context.Context) (int, error) {
	runs, err := p.client.Runs.List(ctx, coordinator.RunQuery{Limit: 1000})
	if err != nil {
		return 0, err
	}
	left, ids := 0, []string{}
	for _, r := range runs {
		ids = append(ids, r.ID)
		left += r.Counts.Queued + r.Counts.Running
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.runs = left, ids
	return left, nil
}

// open returns the number of tasks of the fleet that have not ended, as of the last look.
func (p *users) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}
