package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
	"gaffer/test/stubmodel"
)

// patience is how long a test waits for something that should happen soon, even on a
// busy machine.
const patience = testenv.Patience

// key is the API key with which the agent programs call the stub model.
const key = "sk-dummy"

// environment is a project in an isolated environment: a folder with git, an empty HOME, and a stub
// model that the test controls.
type environment struct {
	*testing.T
	dir  string // folder of the project
	home string
	name string // name under which the stub model stores the requests of this environment; unique, because a test may run several times
	env  []string
}

// newEnvironment waits until another agent program may run, and creates an environment. When the
// test ends, none of its processes may be alive.
func newEnvironment(t *testing.T) *environment {
	t.Helper()
	t.Parallel()
	seats <- true
	t.Cleanup(func() { <-seats })
	root := shortDir(t)
	p := &environment{T: t, dir: filepath.Join(root, "project"), home: filepath.Join(root, "home"), name: strings.ReplaceAll(t.Name(), "/", "-") + "-" + filepath.Base(root)}
	for _, dir := range []string{p.home, filepath.Join(root, "tmp")} {
		p.must(os.Mkdir(dir, 0o755))
	}
	p.must(exec.Command("git", "init", "-q", p.dir).Run())
	t.Cleanup(p.leftovers)
	p.env = []string{
		"HOME=" + p.home, "GAFFER_TRUST=all", "PATH=" + programs + ":" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "TERM=xterm-256color",
		"TMPDIR=" + filepath.Join(root, "tmp"), "TMUX_TMPDIR=" + root, "IS_SANDBOX=1",
		"GAFFER_SANDBOX=none", // most tests look at files that a sandbox hides; sandboxed chooses the default again
		"ANTHROPIC_BASE_URL=" + model.Named(p.name), "ANTHROPIC_API_KEY=" + key,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_MAX_RETRIES=2", "DISABLE_AUTOUPDATER=1",
		// Wait for MCP servers: by default, Claude works without the tools of a server that takes
		// more than 5 s to start.
		"MCP_CONNECTION_NONBLOCKING=0", "MCP_CONNECT_TIMEOUT_MS=120000", "MCP_TIMEOUT=120000",
		"STUB_KEY=" + key,
	}
	p.write(filepath.Join(p.home, ".codex/config.toml"), p.codexConfig())
	p.play("text")
	return p
}

// shortDir returns a temporary folder whose path is short enough for a socket in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ga-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// codexConfig returns the settings that make Codex use the stub model.
func (p *environment) codexConfig() string {
	return fmt.Sprintf(`model = "stub-model"
model_provider = "stub"
check_for_update_on_startup = false
[model_providers.stub]
name = "stub"
base_url = %q
env_key = "STUB_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false
[projects.%q]
trust_level = "trusted"
`, model.Named(p.name)+"/v1", p.dir)
}

// seedClaude writes settings with which Claude Code skips its first questions in a terminal.
func (p *environment) seedClaude() {
	p.Helper()
	p.write(filepath.Join(p.home, ".claude.json"), encode(map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark",
		"customApiKeyResponses": map[string]any{"approved": []string{key}, "rejected": []string{}},
		"projects":              map[string]any{p.dir: map[string]any{"hasTrustDialogAccepted": true}},
	}))
}

// play sets how the model answers this environment; see stubmodel.Modes.
func (p *environment) play(modes ...string) { model.Play(p.name, modes...) }

// turns returns the requests of this environment to the model.
func (p *environment) turns() []stubmodel.Request { return model.Turns(p.name) }

// write writes a file. A relative path is relative to the project.
func (p *environment) write(path, text string) {
	p.Helper()
	path = p.path(path)
	p.must(os.MkdirAll(filepath.Dir(path), 0o755))
	p.must(os.WriteFile(path, []byte(text), 0o600))
}

func (p *environment) read(path string) string {
	p.Helper()
	text, err := os.ReadFile(p.path(path))
	p.must(err)
	return string(text)
}

func (p *environment) path(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.dir, path)
}

func (p *environment) has(path string) bool {
	_, err := os.Stat(p.path(path))
	return err == nil
}

func (p *environment) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// until waits until condition returns true.
func (p *environment) until(what string, condition func() bool) {
	p.Helper()
	testenv.Wait(p, what, func() error {
		if condition() {
			return nil
		}
		return environmentError{p}
	})
}

// environmentError describes the state of an environment. It collects the state only when the text
// is needed, that is when a wait has failed.
type environmentError struct{ env *environment }

func (e environmentError) Error() string {
	screen, _ := e.env.tmux("capture-pane", "-p", "-t", "person") // ignore the error: there may be no terminal
	return fmt.Sprintf("the run\n%s\nprocesses %v\nthe terminal\n%s", encode(e.env.status()), e.env.alive(), screen)
}

// command returns a command that runs a program in this environment. It is not started yet.
func (p *environment) command(name string, args ...string) *exec.Cmd {
	if !strings.Contains(name, "/") && (name == "gaffer" || name == "claude" || name == "codex") {
		name = filepath.Join(programs, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// outcome is the result of a command.
type outcome struct {
	code        int
	out, errors string
}

// gaffer runs a gaffer command until it ends.
func (p *environment) gaffer(args ...string) outcome {
	p.Helper()
	return p.start(args...).wait()
}

// done runs a gaffer command that must succeed, and returns its output.
func (p *environment) done(args ...string) string {
	p.Helper()
	o := p.gaffer(args...)
	if o.code != 0 {
		p.Fatalf("gaffer %s: exit %d\n%s%s", strings.Join(args, " "), o.code, o.out, o.errors)
	}
	return o.out
}

// process is a running gaffer process.
type process struct {
	*environment
	cmd         *exec.Cmd
	mu          sync.Mutex
	out, errors bytes.Buffer
	over        chan struct{}
}

// start starts a gaffer process, which is killed at the end of the test.
func (p *environment) start(args ...string) *process {
	p.Helper()
	g := &process{environment: p, cmd: p.command("gaffer", args...), over: make(chan struct{})}
	g.cmd.Stdout, g.cmd.Stderr = locked{&g.mu, &g.out}, locked{&g.mu, &g.errors}
	g.cmd.WaitDelay = time.Second // its children may keep its output open after it has ended
	p.must(g.cmd.Start())
	go func() {
		defer close(g.over)
		_ = g.cmd.Wait() // ignore the error: the test checks the exit code
	}()
	p.Cleanup(func() {
		g.kill()
		if p.Failed() {
			p.Logf("gaffer %s said:\n%s", strings.Join(args, " "), g.said())
		}
	})
	return g
}

// locked is a buffer that may be read and written at the same time.
type locked struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (l locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(b)
}

func (g *process) said() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.out.String() + g.errors.String()
}

// wait waits until the process ends.
func (g *process) wait() outcome {
	g.Helper()
	select {
	case <-g.over:
	case <-time.After(patience):
		g.Fatalf("%s did not end within %s:\n%s", g.cmd, patience, g.said())
	}
	return outcome{g.cmd.ProcessState.ExitCode(), g.out.String(), g.errors.String()}
}

func (g *process) isOver() bool {
	select {
	case <-g.over:
		return true
	default:
		return false
	}
}

// kill kills the gaffer process only, not its children.
func (g *process) kill() {
	_ = g.cmd.Process.Kill() // ignore the error: the process may have ended
	<-g.over
}

// status returns the latest run of the project.
func (p *environment) status() fleet.Run {
	p.Helper()
	o := p.gaffer("status", "--json")
	var r fleet.Run
	if o.code != 0 && o.code != 1 || json.Unmarshal([]byte(o.out), &r) != nil {
		return fleet.Run{}
	}
	return r
}

// task waits until the only task of the latest run has an attempt and match returns true for the
// task. It returns the task.
func (p *environment) task(what string, match func(fleet.Task) bool) fleet.Task {
	p.Helper()
	var last fleet.Task
	p.until(what, func() bool {
		r := p.status()
		if len(r.Tasks) != 1 || r.Tasks[0].Attempt == nil {
			return false
		}
		last = r.Tasks[0]
		if r.Status.Final() && !match(last) {
			p.Fatalf("%s: the run has ended instead:\n%s", what, encode(last))
		}
		return match(last)
	})
	return last
}

// ended returns the only task of the latest run, which must have ended.
func (p *environment) ended() fleet.Task {
	p.Helper()
	r := p.status()
	if !r.Status.Final() || len(r.Tasks) != 1 || r.Tasks[0].Attempt == nil {
		p.Fatalf("the run has not ended with one task:\n%s", encode(r))
	}
	return r.Tasks[0]
}

// tmux runs a tmux command on a separate server of this environment, whose sessions stand for the
// user's terminals.
func (p *environment) tmux(args ...string) (string, error) {
	cmd := p.command("tmux", append([]string{"-L", "person", "-f", "/dev/null"}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// alive returns the command lines of the processes of this environment, by pid. It finds them by
// their environment variables.
func (p *environment) alive() map[int]string {
	all, err := os.ReadDir("/proc")
	p.must(err)
	found := map[int]string{}
	for _, entry := range all {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), []byte("\x00HOME="+p.home+"\x00")) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
	}
	return found
}

// nothingLeft waits until no process of this environment is alive.
func (p *environment) nothingLeft() {
	p.Helper()
	p.until("nothing is left running", func() bool { return len(p.alive()) == 0 })
}

// leftovers kills the remaining processes of a test. If there are any, the test fails.
func (p *environment) leftovers() {
	_, _ = p.tmux("kill-server") // ignore the error: there may be no tmux server
	var left map[int]string      // processes that are still alive after half a minute
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if left = p.alive(); len(left) == 0 {
			return
		}
	}
	for pid, what := range left {
		p.Errorf("left running: %d %s", pid, what)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			p.Error(err)
		}
	}
}

func encode(v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text)
}
