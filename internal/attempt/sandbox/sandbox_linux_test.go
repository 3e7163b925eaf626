package sandbox

import (
	"bufio"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

var update = flag.Bool("update", false, "rewrite the tables in docs/sandbox.md; read the diff")

// TestMain lets the test's program be gaffer's: its supervisor, and both parts of a sandbox. It is
// also the client that the scripts use.
func TestMain(m *testing.M) {
	args := os.Args[1:]
	switch {
	case len(args) == 2 && args[0] == "supervise":
		os.Exit(supervisor.Main(args[1:]))
	case len(args) > 0 && args[0] == EnterCommand:
		os.Exit(EnterMain(args[1:], os.Stderr))
	case len(args) > 0 && args[0] == InitCommand:
		os.Exit(InitMain(args[1:], os.Stderr))
	case len(args) == 3 && args[0] == "dial":
		exitWith(dial(args[1], args[2]))
	case len(args) == 2 && args[0] == "fetch":
		exitWith(fetch(args[1]))
	case len(args) == 2 && args[0] == "tunnel":
		exitWith(tunnel(args[1]))
	}
	os.Exit(m.Run())
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func dial(network, address string) error {
	conn, err := net.DialTimeout(network, address, 10*time.Second)
	if err == nil {
		err = conn.Close()
	}
	return err
}

func proxyAddress() string { return strings.TrimPrefix(os.Getenv("HTTPS_PROXY"), "http://") }

func fetch(address string) error {
	client := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return &url.URL{Scheme: "http", Host: proxyAddress()}, nil }}}
	if proxyAddress() == "" {
		client = http.DefaultClient
	}
	r, err := client.Get(address)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if text, _ := io.ReadAll(r.Body); string(text) != "hello" {
		return fmt.Errorf("%s: %s", r.Status, text)
	}
	return nil
}

func tunnel(address string) error {
	target := proxyAddress()
	if target == "" {
		return dial("tcp", address)
	}
	conn, err := net.Dial("tcp", target)
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address)
	in := bufio.NewReader(conn)
	r, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("connect: %s", r.Status)
	}
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	text, err := io.ReadAll(in)
	if !strings.HasSuffix(string(text), "hello") {
		return fmt.Errorf("read %q: %w", text, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return nil
}

// world is a machine with a user, a repository and a worktree of it.
type world struct {
	t                            *testing.T
	dir, home, state, main, tree string
	machine                      *Machine
	env                          []string
	forbidden, allowed           string
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(path, text string) {
	w.t.Helper()
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, []byte(text), 0o600))
}

func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := realPath(t.TempDir())
	w := &world{t: t, dir: dir, home: filepath.Join(dir, "home"), state: filepath.Join(dir, "home/.local/state/gaffer")}
	w.main, w.tree = filepath.Join(w.home, "shop"), filepath.Join(w.state, "worktrees/run/task")
	socket := filepath.Join(dir, "agent.sock")
	w.env = []string{
		"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "SSH_AUTH_SOCK=" + socket, "GITHUB_TOKEN=SECRET", "DEPLOY_PASSWORD=SECRET", "ANTHROPIC_API_KEY=own", "TASK_TOKEN=given", "LANG=C",
	}
	for _, name := range []string{".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".kube/config", ".docker/config.json", ".netrc", ".config/gaffer/token", ".local/state/gaffer/gaffer.db"} {
		w.write(filepath.Join(w.home, name), "SECRET")
	}
	w.write(filepath.Join(w.home, "diary"), "private")
	w.write(filepath.Join(w.home, ".profile"), "")
	w.write(filepath.Join(w.home, ".gitconfig"), "[user]\nname = Ada\nemail = ada@example.com\n[commit]\ngpgsign = true\n[init]\ndefaultBranch = main\n")
	w.write(filepath.Join(w.home, ".claude/settings.json"), `{"mine":true}`)
	w.write(filepath.Join(w.home, ".claude/projects/other/a.jsonl"), `{}`)
	w.write(filepath.Join(w.home, ".claude.json"), `{"onboarding":true}`)
	w.write(filepath.Join(dir, "elsewhere/keep"), "")
	w.write(filepath.Join(w.main, "README"), "hello\n")
	unsigned := []string{"-c", "commit.gpgsign=false"}
	w.git(w.main, "init", "-q", "-b", "main")
	w.git(w.main, "add", ".")
	w.git(w.main, append(unsigned, "commit", "-qm", "first")...)
	w.git(w.main, "gc", "-q")
	w.git(w.main, "worktree", "add", "-q", "-b", "gaffer/run/task", w.tree)
	agent, err := net.Listen("unix", socket)
	w.must(err)
	t.Cleanup(func() { _ = agent.Close() })
	w.forbidden, w.allowed = serveHello(t), serveHello(t)
	w.machine = &Machine{Environ: w.env, Self: os.Args[0], Hidden: []string{w.state, filepath.Join(w.home, ".config/gaffer")}}
	w.machine.Self, err = filepath.Abs(os.Args[0])
	w.must(err)
	return w
}

func serveHello(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })}
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(func() { _ = s.Close() })
	return listener.Addr().String()
}

// spec returns the sandbox with this name. "hosts" is bubblewrap with a list of hosts.
func (w *world) spec(name string) Spec {
	switch name {
	case "hosts":
		return Spec{Mode: plan.SandboxBubblewrap, Kind: "claude", Network: plan.NetworkList, Hosts: []string{w.allowed, "example.com"}}
	}
	return Spec{Mode: plan.SandboxMode(name), Kind: "claude"}
}

// start runs a command in a sandbox, under a supervisor.
func (w *world) start(name string, argv []string, open bool) (*supervisor.Process, string) {
	w.t.Helper()
	attempt := filepath.Join(w.state, "attempts", fmt.Sprintf("a%d", time.Now().UnixNano()))
	env := append(w.env, "WORLD="+w.dir, "STATE="+w.state, "MAIN="+w.main, "TREE="+w.tree, "GIT="+filepath.Join(w.main, ".git/worktrees/task"), "SELF="+w.machine.Self,
		"AGENT_SOCKET="+filepath.Join(w.dir, "agent.sock"), "FORBIDDEN="+w.forbidden, "ALLOWED="+w.allowed, "ATTEMPT="+attempt, "PROJECT="+claudeProject(w.tree))
	argv, env, err := w.machine.Wrap(w.spec(name), Command{Argv: argv, Env: env, Given: []string{"TASK_TOKEN"}, Dir: w.tree, Scratch: filepath.Join(attempt, "sandbox")})
	w.must(err)
	return w.supervise(attempt, argv, env, open)
}

// run runs a command line under a supervisor and returns its exit.
func (w *world) run(argv, env []string) supervisor.Exit {
	w.t.Helper()
	p, _ := w.supervise(filepath.Join(w.state, "attempts/a"), argv, env, false)
	exit, err := p.Wait(w.t.Context())
	w.must(err)
	return exit
}

func (w *world) supervise(attempt string, argv, env []string, open bool) (*supervisor.Process, string) {
	w.t.Helper()
	log := filepath.Join(w.dir, "log")
	w.must(os.RemoveAll(log))
	p, err := supervisor.Start(w.t.Context(), attempt, supervisor.Spec{Attempt: filepath.Base(attempt) + "-" + filepath.Base(w.dir), Argv: argv, Env: env, Dir: w.tree, Log: log, Open: open, Interrupt: 20 * time.Second}, supervisor.Options{Command: []string{w.machine.Self}})
	w.must(err)
	w.t.Cleanup(func() { _ = p.Stop("cancelled", true); _, _ = p.Wait(context.Background()); _ = p.Close() })
	return p, log
}

// try runs a script in a sandbox. A command after OUTSIDE runs outside, when the script has ended.
func (w *world) try(sandbox string, a attack) (succeeded bool, output string) {
	w.t.Helper()
	script, outside, checked := strings.Cut(a.script, "OUTSIDE ")
	script = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(script), "&&"), ";")
	decoy := exec.Command("sh", "-c", "exec -a decoy sleep 600")
	if _, err := exec.LookPath("bash"); err == nil {
		decoy = exec.Command("bash", "-c", "exec -a decoy sleep 600")
	}
	w.must(decoy.Start())
	defer func() { _ = decoy.Process.Kill(); _ = decoy.Wait() }()
	w.env = append(w.env, fmt.Sprintf("DECOY=%d", decoy.Process.Pid))
	p, log := w.start(sandbox, []string{"sh", "-c", "echo started; " + script}, false)
	exit, err := p.Wait(w.t.Context())
	w.must(err)
	text, _ := os.ReadFile(log)
	if !strings.HasPrefix(string(text), "started\n") {
		w.t.Errorf("in sandbox %s the script was not started: %s", sandbox, text)
	}
	succeeded = exit.Code == 0 || exit.Lost
	if checked {
		cmd := exec.Command("sh", "-c", outside)
		cmd.Env = append(w.env, "MAIN="+w.main, "TREE="+w.tree, "GIT="+filepath.Join(w.main, ".git/worktrees/task"), "PROJECT="+claudeProject(w.tree))
		succeeded = succeeded && cmd.Run() == nil
	}
	return succeeded, fmt.Sprintf("%s (exit %d %s)", text, exit.Code, exit.Signal)
}

func needBubblewrap(t *testing.T) {
	t.Helper()
	testenv.Integration(t)
	if f := Look(t.Context(), os.Environ()); f.NoBubblewrap != "" {
		t.Fatalf("%s; script/test installs bubblewrap", f.NoBubblewrap)
	}
}

// Every attack must succeed without a sandbox, or it would prove nothing, and fail in each sandbox.
func TestAHostileAgentReachesNothingOutsideOfItsSandbox(t *testing.T) {
	needBubblewrap(t)
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			if ok, out := newWorld(t).try("none", a); !ok {
				t.Errorf("without a sandbox it failed, so it is no attack: %s", out)
			}
			for _, box := range []string{"bubblewrap", "hosts"} {
				if a.only != "" && a.only != box {
					continue
				}
				if ok, out := newWorld(t).try(box, a); ok {
					t.Errorf("in sandbox %s it succeeded: %s", box, out)
				}
			}
		})
	}
}

func TestAnHonestAgentCanWorkInItsSandbox(t *testing.T) {
	needBubblewrap(t)
	for _, a := range honest {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			for _, box := range []string{"bubblewrap", "hosts"} {
				if a.only != "" && a.only != box {
					continue
				}
				if ok, out := newWorld(t).try(box, a); !ok {
					t.Errorf("in sandbox %s it failed: %s", box, out)
				}
			}
		})
	}
}

func TestASandboxEndsAsItsAgentEnds(t *testing.T) {
	needBubblewrap(t)
	w := newWorld(t)
	for script, want := range map[string]string{"exit 7": "7 ", "kill -9 $$": "-1 SIGKILL", "exit 0": "0 "} {
		p, log := w.start("bubblewrap", []string{"sh", "-c", script}, false)
		exit, err := p.Wait(t.Context())
		w.must(err)
		if got := fmt.Sprintf("%d %s", exit.Code, exit.Signal); got != want {
			text, _ := os.ReadFile(log)
			t.Errorf("%s: the exit is %q, want %q: %s", script, got, want, text)
		}
	}
}

func TestAStopReachesTheAgentInItsSandbox(t *testing.T) {
	needBubblewrap(t)
	w := newWorld(t)
	p, log := w.start("bubblewrap", []string{"sh", "-c", `trap 'echo interrupted; exit 3' INT; echo ready; while :; do sleep 0.1; done`}, false)
	testenv.Wait(t, "the agent runs", func() error { return contains(log, "ready") })
	w.must(p.Stop("cancelled", false))
	exit, err := p.Wait(t.Context())
	w.must(err)
	if text, _ := os.ReadFile(log); exit.Code != 3 || exit.StopReason != "cancelled" || !strings.Contains(string(text), "interrupted") {
		t.Errorf("the exit is %+v, the log %s", exit, text)
	}
	if left, _ := filepath.Glob(filepath.Join(w.state, "attempts/*/sandbox")); len(left) > 0 {
		t.Errorf("the sandbox left %v", left)
	}
}

func TestASignalToTheProcessThatIsShownReachesTheAgentInItsSandbox(t *testing.T) {
	needBubblewrap(t)
	w := newWorld(t)
	p, log := w.start("bubblewrap", []string{"sh", "-c", `echo ready; exec sleep 600`}, false)
	testenv.Wait(t, "the agent runs", func() error { return contains(log, "ready") })
	w.must(syscall.Kill(p.Started().Agent.PID, syscall.SIGTERM))
	exit, err := p.Wait(t.Context())
	w.must(err)
	if exit.Signal != "SIGTERM" {
		t.Errorf("the exit is %+v", exit)
	}
}

func TestInputReachesTheAgentInItsSandbox(t *testing.T) {
	needBubblewrap(t)
	w := newWorld(t)
	p, log := w.start("bubblewrap", []string{"sh", "-c", `read x; echo "got $x"`}, true)
	w.must(p.Input([]byte("hello\n")))
	_, err := p.Wait(t.Context())
	w.must(err)
	w.must(contains(log, "got hello"))
}

// A supervisor that is killed leaves a sandbox behind. Attaching must end all of its processes.
func TestNothingOfASandboxIsLeftWhenItsSupervisorIsKilled(t *testing.T) {
	needBubblewrap(t)
	w := newWorld(t)
	p, log := w.start("bubblewrap", []string{"sh", "-c", `env -i setsid sleep 601 & echo ready; sleep 602`}, false)
	testenv.Wait(t, "the agent runs", func() error { return contains(log, "ready") })
	w.must(syscall.Kill(p.Started().Supervisor.PID, syscall.SIGKILL))
	exit, err := p.Wait(t.Context())
	w.must(err)
	if !exit.Lost {
		t.Errorf("the exit is %+v, want lost", exit)
	}
	for _, argument := range []string{"601", "602"} {
		if out, _ := exec.Command("pgrep", "-f", "^sleep "+argument+"$").Output(); len(out) > 0 {
			t.Errorf("sleep %s is still running: %s", argument, out)
		}
	}
}

func contains(file, text string) error {
	data, err := os.ReadFile(file)
	if err == nil && !strings.Contains(string(data), text) {
		err = fmt.Errorf("found %q, want %q", data, text)
	}
	return err
}

func TestTheTablesInTheDocumentationAreThoseOfTheTests(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "| attack | what it tries | no sandbox | bubblewrap | with a list of hosts |\n| --- | --- | --- | --- | --- |\n")
	for _, a := range attacks {
		fmt.Fprintf(&b, "| `%s` | %s | succeeds | %s | prevented |\n", a.name, a.what, map[bool]string{true: "possible: the network is on", false: "prevented"}[a.only == "hosts"])
	}
	fmt.Fprintf(&b, "\n| honest work | bubblewrap | with a list of hosts |\n| --- | --- | --- |\n")
	for _, a := range honest {
		cell := func(box string) string {
			if a.only != "" && a.only != box {
				return "–"
			}
			return "works"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", a.what, cell("bubblewrap"), cell("hosts"))
	}
	page := filepath.Join("..", "..", "..", "docs", "sandbox.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), "<!-- tables -->\n")
	_, after, _ := strings.Cut(rest, "<!-- end of tables -->\n")
	want := before + "<!-- tables -->\n\n" + b.String() + "\n<!-- end of tables -->\n" + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Error("docs/sandbox.md differs from the tables in attacks_linux_test.go: go test ./internal/attempt/sandbox -run Tables -update")
	}
}

func TestAnAgentInASandboxIsFrozenWithoutALeaseAndContinues(t *testing.T) {
	needBubblewrap(t)
	w := newWorld(t)
	p, log := w.start("bubblewrap", []string{"sh", "-c", `echo ready; while ! test -e go; do sleep 0.1; done; echo continued`}, false)
	testenv.Wait(t, "the agent runs", func() error { return contains(log, "ready") })
	frozen := func(want bool) {
		t.Helper()
		testenv.Wait(t, fmt.Sprintf("frozen = %t", want), func() error {
			s, err := p.Status()
			if err == nil && s.Frozen != want {
				err = fmt.Errorf("found %+v", s)
			}
			return err
		})
	}
	w.must(p.Extend(time.Now().Add(-time.Second)))
	frozen(true)
	w.must(p.Extend(time.Now().Add(time.Hour)))
	frozen(false)
	w.write(filepath.Join(w.tree, "go"), "")
	exit, err := p.Wait(t.Context())
	w.must(err)
	if exit.Code != 0 {
		t.Errorf("the exit is %+v", exit)
	}
	w.must(contains(log, "continued"))
}

// A task without a worktree works in the project's folder, whose .git is a folder.
func TestAnAgentInTheProjectsFolderCommitsAndCannotChangeWhatGitRuns(t *testing.T) {
	needBubblewrap(t)
	w := newWorld(t)
	w.tree = w.main
	for _, a := range []attack{
		{name: "hook", script: `echo evil > .git/hooks/post-commit`},
		{name: "config", script: `git config core.fsmonitor evil`},
		{name: "replace", script: `mv .git .git-old`},
		{name: "redirect", script: `echo /evil > .git/commondir; OUTSIDE test -e "$MAIN/.git/commondir"`},
		{name: "worktree-config", script: `echo evil > .git/config.worktree; OUTSIDE test -e "$MAIN/.git/config.worktree"`},
		{name: "other-worktree", script: `echo /evil > .git/worktrees/task/commondir`},
	} {
		if ok, out := w.try("bubblewrap", a); ok {
			t.Errorf("%s succeeded: %s", a.name, out)
		}
	}
	if ok, out := w.try("bubblewrap", attack{script: `echo x > x.txt && git add -A && git commit -qm work && OUTSIDE git -C "$MAIN" cat-file -e main:x.txt`}); !ok {
		t.Errorf("a commit failed: %s", out)
	}
}
