package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/pause"
	"gaffer/internal/testkit/testenv"
)

// world is a project in an isolated environment, with a gaffer server.
type world struct {
	*testing.T
	dir    string // folder of the project
	home   string
	url    string
	token  string
	server *process
	flags  []string // command line flags of the server
	beats  *heartbeats
}

// newWorld starts a server in an empty project.
func newWorld(t *testing.T, flags ...string) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir(), home: t.TempDir(), flags: flags, beats: &heartbeats{}}
	t.Cleanup(w.killAgents)
	w.must(exec.Command("git", "init", "-q", w.dir).Run())
	w.serve("127.0.0.1:0")
	return w
}

// killAgents kills the agents that still run after their workers were killed. Agents survive their
// worker by design.
func (w *world) killAgents() {
	all, err := os.ReadDir("/proc")
	w.must(err)
	for _, entry := range all {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err == nil && bytes.Contains(environ, []byte("HOME="+w.home+"\x00")) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // ignore the error: the process may have ended
		}
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

var (
	listening = regexp.MustCompile(`Listening on (http://\S+)`)
	tokenFile = regexp.MustCompile(`token.* is (?:kept )?in (\S+?),`)
)

// serve starts the server and waits until it listens.
func (w *world) serve(address string) {
	w.Helper()
	w.server = w.start(append([]string{"serve", "--listen", address}, w.flags...)...)
	w.url = w.server.await(listening)
	if w.token == "" {
		text, err := os.ReadFile(w.server.await(tokenFile))
		w.must(err)
		w.token = strings.TrimSpace(string(text))
	}
}

// restart kills the server, calls fn, and starts the server again at the same address.
func (w *world) restart(fn func()) {
	w.Helper()
	w.server.kill()
	fn()
	w.serve(strings.TrimPrefix(w.url, "http://"))
}

// command returns a gaffer command of this world. It is not started yet.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(gaffer, args...)
	cmd.Dir = w.dir
	cmd.Env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "GAFFER_TOKEN=" + w.token, "LANG=C.UTF-8", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// process is a running gaffer process.
type process struct {
	*world
	cmd  *exec.Cmd
	name string
	mu   sync.Mutex
	said bytes.Buffer
	over chan struct{}
}

// start starts a gaffer process, which ends with the test.
func (w *world) start(args ...string) *process {
	w.Helper()
	p := &process{world: w, cmd: w.command(args...), name: args[0], over: make(chan struct{})}
	out, err := p.cmd.StdoutPipe()
	w.must(err)
	p.cmd.Stderr = p.cmd.Stdout
	w.must(p.cmd.Start())
	go func() {
		defer close(p.over)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			p.mu.Lock()
			p.said.Write(append(lines.Bytes(), '\n'))
			p.mu.Unlock()
		}
		_ = p.cmd.Wait() // ignore the error: the test checks the exit code
	}()
	w.Cleanup(func() {
		p.end()
		if w.Failed() {
			w.Logf("gaffer %s said:\n%s", strings.Join(args, " "), p.text())
		}
	})
	return p
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.said.String()
	return text[max(0, len(text)-4000):]
}

// await waits until the output of the process matches want, and returns the match.
func (p *process) await(want *regexp.Regexp) string {
	p.Helper()
	var m []string
	testenv.Wait(p, fmt.Sprintf("%s in what gaffer %s says", want, p.name), func() error {
		text := p.text()
		if m = want.FindStringSubmatch(text); m != nil {
			return nil
		}
		select {
		case <-p.over:
			p.Fatalf("gaffer %s ended:\n%s", p.name, p.text())
		default:
		}
		return errors.New(text)
	})
	return m[1]
}

// end sends SIGTERM to the process, and kills it if it does not end in time.
func (p *process) end() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // ignore the error: the process may have ended
	select {
	case <-p.over:
	case <-time.After(20 * time.Second):
		p.kill()
	}
}

func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // ignore the error: the process may have ended
	<-p.over
}

// worker starts a worker of the project.
func (w *world) worker(name string, args ...string) *process {
	w.Helper()
	p := w.start(append([]string{"worker", "--server", w.url, "--name", name}, args...)...)
	until(w, "worker "+name, func() ([]coordinator.Agent, bool) {
		all := w.agents()
		return all, slices.ContainsFunc(all, func(a coordinator.Agent) bool { return a.Name == name })
	})
	return p
}

// submit submits a plan to the server without waiting for it, and returns the run's
// id.
func (w *world) submit(plan string) string {
	w.Helper()
	file := filepath.Join(w.dir, "plan.yaml")
	w.must(os.WriteFile(file, []byte(plan), 0o600))
	var out struct {
		Run string `json:"run"`
		ID  string `json:"id"`
	}
	text, err := w.command("run", "--server", w.url, "--detach", "--json", file).Output()
	if err != nil {
		w.Fatalf("submit: %v\n%s", err, text)
	}
	w.must(json.Unmarshal(text, &out))
	if out.Run == "" {
		out.Run = out.ID
	}
	return out.Run
}

// client returns a client of the server with an admin's token.
func (w *world) client() *coordinator.Client {
	w.Helper()
	c, err := coordinator.New(w.url, coordinator.Options{Token: w.token})
	w.must(err)
	return c
}

func (w *world) agents() []coordinator.Agent {
	w.Helper()
	list, err := w.client().Agents.List(context.Background())
	w.must(err)
	return list
}

// beat sends a heartbeat of a protocol agent, and repeats it until the agent's next heartbeat or
// the end of the test. Without that, the agent would be offline after [coordinator.OfflineAfter],
// which is less than some tests take on a busy machine.
func (w *world) beat(h coordinator.Heartbeat) coordinator.Agent {
	w.Helper()
	w.beats.mu.Lock()
	defer w.beats.mu.Unlock()
	a := w.beatOnce(h)
	h.AgentID = a.ID
	if w.beats.last == nil {
		w.beats.last = map[string]sentHeartbeat{}
		w.beats.repeat(w.T)
	}
	w.beats.last[a.ID] = sentHeartbeat{h, w.client()}
	return a
}

// beatOnce sends a heartbeat of a protocol agent.
func (w *world) beatOnce(h coordinator.Heartbeat) coordinator.Agent {
	w.Helper()
	a, err := w.client().Agents.Heartbeat(context.Background(), h)
	w.must(err)
	return a
}

// heartbeats repeats the last heartbeat of each agent.
type heartbeats struct {
	mu   sync.Mutex
	last map[string]sentHeartbeat // by the agent's id; nil before the first heartbeat
}

type sentHeartbeat struct {
	coordinator.Heartbeat
	to *coordinator.Client
}

// repeat sends the heartbeats in the background until the test ends.
func (b *heartbeats) repeat(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var sending sync.WaitGroup
	t.Cleanup(func() { cancel(); sending.Wait() })
	sending.Go(func() {
		for pause.For(ctx, 5*time.Second) {
			b.mu.Lock()
			for _, h := range b.last {
				within, cancel := context.WithTimeout(ctx, 3*time.Second)
				_, _ = h.to.Agents.Heartbeat(within, h.Heartbeat) // ignore the error: the test may have stopped the server
				cancel()
			}
			b.mu.Unlock()
		}
	})
}

// post sends a request as an admin and returns the answer's body.
func (w *world) post(path string, body any) []byte {
	w.Helper()
	answer, ok := w.try(path, body)
	if !ok {
		w.Fatalf("%s: %s", path, answer)
	}
	return answer
}

// try is like post, but the server may refuse the request; then ok is false.
func (w *world) try(path string, body any) (answer []byte, ok bool) {
	w.Helper()
	text, err := json.Marshal(body)
	w.must(err)
	req, err := http.NewRequest(http.MethodPost, w.url+path, bytes.NewReader(text))
	w.must(err)
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	w.must(err)
	defer func() { _ = res.Body.Close() }()
	answer, err = io.ReadAll(res.Body)
	w.must(err)
	return answer, res.StatusCode < 300
}

// loginURL returns a link that logs a browser in.
func (w *world) loginURL() string {
	w.Helper()
	var link struct {
		Path string `json:"path"`
	}
	w.must(json.Unmarshal(w.post("/v1/login", nil), &link))
	return fmt.Sprint(w.url, link.Path)
}
