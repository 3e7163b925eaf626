package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
)

// world is the environment of one attack: a user with a project and a state folder, the gaffer
// process that the user has started, and what the test has observed.
type world struct {
	*testing.T
	attack
	agent    // embedded only for its methods that return paths
	env      []string
	gaffer   *exec.Cmd // the gaffer process that works on the run
	words    *output
	gone     chan struct{} // closed when gaffer has ended
	url      string
	group    string // path of this world's control group; empty if it has none
	isEnded  bool
	seen     *sighting
	finished fleet.Run
}

// output collects what a program prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// patience is how long a run may take to end after its attack. If a run takes longer, the test
// fails.
const patience = 60 * time.Second

func newWorld(t *testing.T, a attack, groups bool) *world {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, attack: a, agent: agent{top: top}, words: new(output), gone: make(chan struct{})}
	for _, dir := range []string{"bin", "home", "project", "state", "hooks"} {
		w.must(os.Mkdir(w.path(dir), 0o700))
	}
	w.must(os.Symlink(testenv.Program(t), w.path("bin", "gaffer")))
	w.must(os.WriteFile(w.path(outsideFile), []byte("the user's\n"), 0o600))
	w.must(os.CopyFS(w.project(), os.DirFS(repository(t))))
	w.env = []string{
		"HOME=" + w.path("home"), "PATH=" + w.path("bin") + ":" + os.Getenv("PATH"), "XDG_STATE_HOME=" + w.path("state"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com",
	}
	w.seen = watch(top)
	if !groups {
		w.env = append(w.env, "GAFFER_CGROUPS=off")
	}
	w.isolate()
	t.Cleanup(func() { w.leaveNothing() })
	if a.tmpfs != "" {
		w.must(syscall.Mount("tmpfs", w.path("state"), "tmpfs", 0, a.tmpfs))
		t.Cleanup(func() { w.must(syscall.Unmount(w.path("state"), syscall.MNT_DETACH)) })
		t.Cleanup(func() { w.leaveNothing() }) // runs before the file system is unmounted
	}
	return w
}

// makeRepository creates a git repository with one commit on main, and returns its path. All tests
// use the same one.
var makeRepository = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hostile-repository-")
	if err != nil {
		return "", err
	}
	script := `git init -q -b main . && rm -f .git/hooks/* && echo hello >README && git add . && git -c user.name=t -c user.email=t@example.com commit -qm first`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return dir, err
})

func repository(t *testing.T) string {
	t.Helper()
	dir, err := makeRepository()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// isolate creates a control group for everything that the user of this world starts. gaffer creates
// its groups below that group, so all of them are deleted with it. If gaffer creates no groups, it
// searches the processes of its group for those of a lost attempt. Thanks to isolate, it does not
// find processes of other tests there.
func (w *world) isolate() {
	w.Helper()
	for _, root := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/pids"} {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
			continue
		}
		dir, err := os.MkdirTemp(root, "hostile-"+w.attack.name+"-")
		if err != nil {
			continue
		}
		w.group = dir
		w.Cleanup(func() {
			testenv.Wait(w, "the control groups to be empty", func() error { // a killed process stays in its group for a moment
				below, _ := filepath.Glob(filepath.Join(dir, "gaffer-*")) // ignore the error: the pattern is valid
				for _, sub := range below {
					_ = os.Remove(sub) // ignore the error: removing the parent returns it
				}
				return os.Remove(dir)
			})
		})
		return
	}
	w.Fatal("this test needs a control group of its own; run it as root")
}

// command returns a gaffer command as the user of this world runs it.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.path("bin", "gaffer"), args...)
	if w.group != "" {
		cmd = exec.Command("sh", append([]string{"-c", `echo $$ >"$0/cgroup.procs" && ` + testenv.KeepLimits + `exec "$@"`, w.group, w.path("bin", "gaffer")}, args...)...)
	}
	cmd.Dir, cmd.Env = w.project(), w.env
	return cmd
}

// user runs a gaffer command as the user, and returns its output and exit code. If the command
// hangs, the test fails.
func (w *world) user(args ...string) (string, int) {
	w.Helper()
	cmd := w.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	w.must(cmd.Start())
	timer := time.AfterFunc(patience, func() {
		_ = cmd.Process.Kill() // end the command that hangs
		w.Errorf("'gaffer %s' hangs", strings.Join(args, " "))
	})
	err := cmd.Wait()
	timer.Stop()
	code := 0
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		code = failed.ExitCode()
	}
	return out.String(), code
}

// plan writes a plan with the tasks of the attacker and of the sibling, and returns its path.
func (w *world) plan() string {
	exe, err := os.Executable()
	w.must(err)
	task := map[string]any{"id": "attacker", "retries": w.retries, "worktree": w.worktree}
	if w.timeout != "" {
		task["timeout"] = w.timeout
	}
	if w.asks {
		task["agent"] = "fake"
		task["prompt"] = fmt.Sprintf("fake: tool %s attack %s %s </dev/null >>%s 2>&1 &\nfake: permission Bash rm -rf build\nfake: say done", exe, w.attack.name, w.top, w.path("attack.log"))
	} else {
		task["command"] = []string{exe, "attack", w.attack.name, w.top}
	}
	tasks := []any{task}
	switch w.sibling {
	case works:
		tasks = append(tasks, map[string]any{"id": "sibling", "command": []string{exe, "sibling", w.top}})
	case asks:
		tasks = append(tasks, map[string]any{"id": "sibling", "agent": "fake", "prompt": "fake: permission Bash rm -rf build\nfake: say done"})
	}
	text, err := json.Marshal(map[string]any{"tasks": tasks})
	w.must(err)
	w.must(os.WriteFile(w.path("plan.json"), text, 0o600))
	return w.path("plan.json")
}

// start starts the run, and returns when the attack is over.
func (w *world) start() {
	w.Helper()
	args := []string{"run", w.plan(), "--local"}
	if w.hasServer {
		w.serve()
	}
	if w.hasWorker {
		args = []string{"run", w.plan(), "--server", w.url}
		w.background(w.command("worker", "--server", w.url, "--name", "w1"))
	}
	w.work(args...)
	testenv.Wait(w, "the attack", func() error {
		if _, err := os.Lstat(w.path(attackedFile)); err == nil {
			return nil
		}
		select {
		case <-w.gone:
			return fmt.Errorf("gaffer has ended\n%s\nreport:\n%s", w.words, w.read(w.path(reportFile)))
		default:
			return errors.New("not over")
		}
	})
}

// work starts a gaffer process that works on the run.
func (w *world) work(args ...string) {
	w.Helper()
	w.words, w.gone = new(output), make(chan struct{})
	w.gaffer = w.command(args...)
	w.gaffer.Env = append(slices.Clone(w.env), "GAFFER_TOKEN="+secret)
	if w.hasServer {
		w.gaffer.Env = w.env
	}
	w.gaffer.Stdout, w.gaffer.Stderr = w.words, w.words
	w.gaffer.WaitDelay = time.Second
	w.must(w.gaffer.Start())
	gaffer, gone := w.gaffer, w.gone
	time.AfterFunc(0, func() {
		_ = gaffer.Wait() // ignore the error: ProcessState has the exit code
		close(gone)
	})
}

func (w *world) background(cmd *exec.Cmd) {
	w.Helper()
	w.must(cmd.Start())
	w.Cleanup(func() {
		_ = cmd.Process.Kill() // ignore the error: the process has ended
		_ = cmd.Wait()
	})
}

func (w *world) serve() {
	w.Helper()
	w.background(w.command("serve", "--listen", "127.0.0.1:0"))
	testenv.Wait(w, "the server", func() error {
		if w.url, _ = w.server(); w.url == "" {
			return errors.New("no address")
		}
		return nil
	})
}

// run returns the run as the user sees it.
func (w *world) run() (run fleet.Run) {
	w.Helper()
	id := strings.TrimSpace(w.read(w.path("run")))
	out, _ := w.user(append([]string{"status", id, "--json"}, w.at()...)...)
	if i := strings.Index(out, "{"); i >= 0 {
		_ = json.NewDecoder(strings.NewReader(out[i:])).Decode(&run) // ignore the error: an empty run means that there is none
	}
	return run
}

// at returns the flags that select the fleet of this world's run.
func (w *world) at() []string {
	if w.hasWorker {
		return []string{"--server", w.url}
	}
	return nil
}

func (w *world) task(id string) fleet.Task {
	for _, task := range w.run().Tasks {
		if task.ID == id {
			return task
		}
	}
	return fleet.Task{}
}

// isOpen reports whether the permission request of a task is still open.
func (w *world) isOpen(task string) bool {
	out, code := w.user(append([]string{"answer", task}, w.at()...)...)
	return code == 0 && strings.Contains(out, "rm -rf build")
}

// end lets all agents end, denies their permission requests, and waits until the run has ended. If
// no gaffer process works on the run, the user resumes it.
func (w *world) end() fleet.Run {
	w.Helper()
	if w.isEnded {
		return w.finished
	}
	w.isEnded = true
	w.must(os.WriteFile(w.path(releaseFile), nil, 0o600))
	ended := testenv.Poll(patience, func() bool {
		if w.finished = w.run(); w.finished.Status != "" && w.finished.Status != fleet.Running {
			return true
		}
		for _, task := range []string{"attacker", "sibling"} {
			if w.asks || w.sibling == asks {
				w.user(append([]string{"answer", task, "--deny", "no"}, w.at()...)...)
			}
		}
		select {
		case <-w.gone:
			if !w.hasWorker {
				w.work("resume", strings.TrimSpace(w.read(w.path("run"))))
			}
		default:
		}
		return false
	})
	if !ended {
		w.Errorf("the run does not end")
		return w.finished
	}
	w.waitGone()
	return w.finished
}

// waitGone waits until the gaffer process that works on the run has ended. By then it has written
// the documents.
func (w *world) waitGone() {
	w.Helper()
	select {
	case <-w.gone:
	case <-time.After(patience):
		w.Errorf("gaffer does not end with its run")
	}
}

// report returns the report that the attacker wrote.
func (w *world) report() (list []reportLine) {
	for line := range strings.Lines(w.read(w.path(reportFile))) {
		var t reportLine
		if json.Unmarshal([]byte(line), &t) == nil {
			list = append(list, t)
		}
	}
	return list
}

// wasRefused reports whether gaffer refused every command of the attack.
func (w *world) wasRefused() bool {
	n := 0
	for _, t := range w.report() {
		if strings.Contains(t.What, "gaffer ") || strings.HasPrefix(t.What, "answer later") {
			if t.Code != 4 || !strings.Contains(t.Said, "refused") {
				w.Logf("not refused: %+v", t)
				return false
			}
			n++
		}
	}
	return n > 0
}

// succeeded reports whether a step of the attack succeeded.
func (w *world) succeeded(what string) bool {
	return slices.ContainsFunc(w.report(), func(t reportLine) bool { return strings.Contains(t.What, what) && t.Code == 0 })
}

// processes returns the pids of the processes that belong to this world: its folder is in their
// arguments or in their environment.
func (w *world) processes() (list []int) {
	files, _ := filepath.Glob("/proc/[0-9]*") // ignore the error: the pattern is valid
	for _, dir := range files {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if pid == os.Getpid() {
			continue
		}
		for _, name := range []string{"cmdline", "environ"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && bytes.Contains(data, []byte(w.top)) {
				list = append(list, pid)
				break
			}
		}
	}
	return list
}

// left describes the processes of this world's attempts that are still alive.
func (w *world) left() (list []string) {
	for _, pid := range w.processes() {
		if line := argumentsOf(pid); strings.Contains(line, "supervise") || strings.Contains(line, " "+w.top+" ") {
			list = append(list, fmt.Sprintf("%d %s", pid, line))
		}
	}
	return list
}

// leaveNothing kills all remaining processes of this world.
func (w *world) leaveNothing() {
	testenv.Wait(w, "the processes of the attack end", func() error {
		left := w.processes()
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // ignore the error: the process has ended
		}
		if len(left) > 0 {
			return fmt.Errorf("%v are left", left)
		}
		return nil
	})
}

// sighting holds what the sampler has observed about one world.
type sighting struct{ doubles []string }

var sampler struct {
	sync.Mutex
	sync.Once
	worlds map[string]*sighting
}

// watch registers a world with the sampler, which checks all the time whether a task has two live
// attempts.
func watch(top string) *sighting {
	s := &sighting{}
	sampler.Lock()
	defer sampler.Unlock()
	if sampler.worlds == nil {
		sampler.worlds = map[string]*sighting{}
	}
	sampler.worlds[top] = s
	sampler.Do(func() { time.AfterFunc(0, sample) })
	return s
}

func (w *world) doubles() []string {
	sampler.Lock()
	defer sampler.Unlock()
	return slices.Clone(w.seen.doubles)
}

// sample checks all processes whose arguments end with a world, a task and an attempt. Then it
// schedules the next check.
func sample() {
	type key struct{ top, task string }
	type live struct {
		attempt string
		pid     int
	}
	defer time.AfterFunc(20*time.Millisecond, sample)
	found := map[key]live{}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // ignore the error: the pattern is valid
	sampler.Lock()
	defer sampler.Unlock()
	for _, file := range files {
		data, _ := os.ReadFile(file) // ignore the error: the process has ended
		words := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
		if len(words) < 5 || sampler.worlds[words[len(words)-3]] == nil {
			continue
		}
		k, attempt := key{words[len(words)-3], words[len(words)-2]}, words[len(words)-1]
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		other, seen := found[k]
		if !seen {
			found[k] = live{attempt, pid}
			continue
		}
		// Check again that the other process is alive: it may have ended since it was found.
		if other.attempt != attempt && strings.HasSuffix(strings.TrimSpace(argumentsOf(other.pid)), other.attempt) {
			s := sampler.worlds[k.top]
			s.doubles = append(s.doubles, fmt.Sprintf("%s: attempt %s (pid %d) and attempt %s (pid %d)", k.task, other.attempt, other.pid, attempt, pid))
		}
	}
}
