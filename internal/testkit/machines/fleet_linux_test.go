package machines

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gaffer/coordinator"
)

// lease is how long a worker may be silent before other workers take over its tasks.
const lease = 3 * time.Second

// fleet is a set of coordinators on one database, and their workers.
type fleet struct {
	t            *testing.T
	network      *Network
	db           *Postgres
	coordinators []*service
	workers      []*service
	client       *Machine
	token        string // token of an admin
	marks        string // folder in which tasks write their marks
	upto         int    // number of the last task that may do its steps, see allow

	lease   time.Duration  // if not zero, used instead of the constant lease
	slots   int            // number of slots of each worker; 0 means 2
	also    []string       // additional environment variables of every program
	prepare func(*Machine) // called before the program of a machine starts; may be nil
}

// service is a program that runs on a separate machine.
type service struct {
	*Machine
	program string // path of the program; an upgrade changes it
	args    []string
	env     []string
	process *Process
}

func (s *service) start() {
	s.process = s.Start(s.env, s.project(), append([]string{s.program}, s.args...)...)
}

// project returns the path of the machine's copy of the project.
func (m *Machine) project() string { return filepath.Join(m.Home, "shop") }

// service creates a machine for a program.
func (f *fleet) service(name, program string, args ...string) *service {
	f.t.Helper()
	m := f.network.Machine(name)
	if err := os.MkdirAll(m.project(), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.project(), "gaffer.yaml"), nil, 0o644); err != nil {
		f.t.Fatal(err)
	}
	s := &service{Machine: m, program: program, args: args, env: m.env(f.also...)}
	if f.prepare != nil {
		f.prepare(m)
	}
	return s
}

// env returns the environment variables of programs on the machine.
func (m *Machine) env(also ...string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.Home, "LC_ALL=C", "USER=" + m.Name, "GAFFER_INSECURE_HTTP=1"}
	for name, folder := range map[string]string{"XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache", "TMPDIR": "tmp"} {
		dir := filepath.Join(m.Home, folder)
		_ = os.MkdirAll(dir, 0o700) // ignore the error: the program fails if the folder is missing
		env = append(env, name+"="+dir)
	}
	return append(env, also...)
}

// newFleet starts coordinators and workers with two slots each.
func newFleet(t *testing.T, program string, coordinators, workers int) *fleet {
	t.Helper()
	f := &fleet{t: t, network: New(t), marks: t.TempDir()}
	f.start(program, coordinators, workers)
	return f
}

// start starts the database, coordinators and workers.
func (f *fleet) start(program string, coordinators, workers int) {
	f.t.Helper()
	f.db = f.network.Machine("db").Postgres()
	for i := range coordinators {
		f.addCoordinator(fmt.Sprintf("server%d", i+1), program)
	}
	f.client = f.service("client", program).Machine
	for i := range workers {
		f.addWorker(fmt.Sprintf("worker%d", i+1), program)
	}
}

func (f *fleet) addCoordinator(name, program string) {
	f.t.Helper()
	s := f.service(name, program)
	s.args = []string{"serve", "--db", f.db.URL, "--listen", s.Address + ":4870", "--insecure", "--lease", cmp.Or(f.lease, lease).String()}
	f.coordinators = append(f.coordinators, s)
	s.start()
	f.ready(s)
	if f.token == "" { // the first coordinator creates the token
		text, err := os.ReadFile(filepath.Join(s.Home, "state", "gaffer", "token"))
		if err != nil {
			f.t.Fatal(err)
		}
		f.token = strings.TrimSpace(string(text))
	}
}

// ready waits until a coordinator answers requests.
func (f *fleet) ready(s *service) {
	f.t.Helper()
	via := s.HTTP()
	defer via.CloseIdleConnections()
	Eventually(f.t, 30*time.Second, s.Name+" is ready", func() bool {
		if s.process.Ended() {
			f.t.Fatalf("%s has ended: %v\n%s", s.Name, s.process.err, s.Output(4000))
		}
		res, err := via.Get("http://" + s.Address + ":4870/health") //nolint:noctx // it answers or is refused
		if err != nil {
			return false
		}
		_ = res.Body.Close() // ignore the error: only the status matters
		return res.StatusCode == http.StatusOK
	})
}

func (f *fleet) addWorker(name, program string) {
	f.t.Helper()
	s := f.service(name, program, "worker", "--server", f.addresses(), "--name", name, "--slots", fmt.Sprint(cmp.Or(f.slots, 2)))
	s.env = append(s.env, "GAFFER_TOKEN="+f.tokenFor("worker", name))
	f.workers = append(f.workers, s)
	s.start()
}

// addresses returns the URLs of all coordinators, separated by commas.
func (f *fleet) addresses() string {
	var list []string
	for _, d := range f.coordinators {
		list = append(list, "http://"+d.Address+":4870")
	}
	return strings.Join(list, ",")
}

// tokenFor creates a token with a role, and waits until all coordinators accept it.
func (f *fleet) tokenFor(role, name string) string {
	f.t.Helper()
	lines := strings.Split(strings.TrimSpace(f.run("token", "create", "--role", role, "--name", name, "--db", f.db.URL)), "\n")
	token := lines[len(lines)-1]
	for _, d := range f.coordinators {
		c, err := coordinator.New("http://"+d.Address+":4870", coordinator.Options{Token: token, HTTP: d.HTTP(), PlainHTTP: true})
		if err != nil {
			f.t.Fatal(err)
		}
		Eventually(f.t, 20*time.Second, d.Name+" knows the token of "+name, func() bool { _, err := c.Agents.List(f.t.Context()); return err == nil })
	}
	return token
}

// run runs gaffer on the client's machine and returns its output.
func (f *fleet) run(args ...string) string {
	f.t.Helper()
	words := f.client.inside(append([]string{"/bin/sh", "-c", `cd "$1" && shift && exec "$@"`, "sh", f.client.project(), f.coordinators[0].program}, args...)...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = f.client.env("GAFFER_TOKEN="+f.token, "GAFFER_SERVER="+f.addresses())
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		f.t.Fatalf("gaffer %s: %v\n%s", strings.Join(args, " "), err, talk.String())
	}
	return out.String()
}

// asks returns a client of all coordinators that tries the nth coordinator first.
func (f *fleet) asks(n int) *coordinator.Client {
	f.t.Helper()
	list := strings.Split(f.addresses(), ",")
	c, err := coordinator.New(list[n], coordinator.Options{
		Also: append(list[n+1:len(list):len(list)], list[:n]...), Token: f.token, HTTP: f.client.HTTP(), PlainHTTP: true, Silence: 20 * time.Second,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

const (
	step = 100 * time.Millisecond
	// One in longEvery tasks takes longer than a lease.
	longEvery = 4
	parallel  = 3 // how many tasks run at once
)

// script is the command of every task. It writes a mark with each step. A task whose number is
// greater than that in the file "upto" waits. The first attempt of a long task also waits while the
// file "wanted" exists. If the task has a file TASK.held, its first attempt runs so long that it is
// still alive when another attempt replaces it.
const script = `
m() { echo "$1 $GAFFER_ATTEMPT" >>$marks/$GAFFER_TASK; sleep $step; }
m begin
while [ -e $marks/upto ] && [ $number -gt $(cat $marks/upto) ]; do sleep $step; done
while [ $long$GAFFER_ATTEMPT_NUMBER = true1 ] && [ -e $marks/wanted ]; do sleep $step; done
for i in $(seq $steps); do m step; done
for i in $(seq 300); do
	[ $GAFFER_ATTEMPT_NUMBER = 1 ] && [ -e $marks/$GAFFER_TASK.held ] || break
	m step
done
m end`

// submit submits a run to the fleet, with tasks that mostly take up to two seconds. It returns the
// ids of the run and its tasks.
func (f *fleet) submit(rng *rand.Rand, tasks int) (run string, ids []string) {
	f.t.Helper()
	type task struct {
		ID    string `json:"id"`
		Shell string `json:"shell"`
	}
	var list []task
	for i := range tasks {
		id, steps := fmt.Sprintf("t%02d", i+1), 2+rng.IntN(18)
		if i%longEvery == 0 {
			steps = int((lease+time.Second)/step) + rng.IntN(10)
		}
		ids = append(ids, id)
		list = append(list, task{id, fmt.Sprintf("marks=%s step=%g steps=%d number=%d long=%t%s", f.marks, step.Seconds(), steps, i+1, i%longEvery == 0, script)})
	}
	data, err := json.Marshal(map[string]any{"name": "marks", "parallel": parallel, "defaults": map[string]any{"retries": 50}, "tasks": list})
	if err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.client.project(), "plan.json"), data, 0o644); err != nil {
		f.t.Fatal(err)
	}
	run = strings.TrimSpace(f.run("run", "--detach", "plan.json"))
	return run, ids
}

// allow lets the tasks up to this number do their steps. Without a call of allow, no task waits.
func (f *fleet) allow(upto int) {
	f.t.Helper()
	f.upto = max(f.upto, upto)
	file := filepath.Join(f.marks, "upto")
	if err := os.WriteFile(file+".new", []byte(strconv.Itoa(f.upto)), 0o644); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil { // a task must not read half of the number
		f.t.Fatal(err)
	}
}

// ended returns how many tasks have finished, according to their marks.
func (f *fleet) ended() (n int) {
	files, _ := filepath.Glob(filepath.Join(f.marks, "t??")) // ignore the error: the pattern is valid
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte("end ")) {
			n++
		}
	}
	return n
}

// alive fails the test if a coordinator or worker has ended by itself.
func (f *fleet) alive() {
	f.t.Helper()
	for _, s := range slices.Concat(f.coordinators, f.workers) {
		if s.process.Ended() {
			f.t.Errorf("%s has ended: %v", s.Name, s.process.err)
		}
	}
}

// await waits until n tasks have finished.
func (f *fleet) await(n int) {
	f.t.Helper()
	Eventually(f.t, 2*time.Minute, fmt.Sprintf("%d tasks have ended", n), func() bool { return f.ended() >= n })
}
