package docs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"gaffer/internal/testkit/testenv"
)

// project is the project of a page: its folder, and the environment of its commands.
type project struct {
	dir    string // folder of the project
	steps  string // folder with one file for each command, and one for its output
	home   string
	env    []string
	port   string
	inline map[string]string // the command to run for each `gaffer …` in the text of the page
}

// newProject creates a project with the files of a fixture, which may be nil.
func newProject(t *testing.T, fixture *txtar.Archive) *project {
	t.Helper()
	top, err := os.MkdirTemp("", "docs-") // not t.TempDir: its path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	p := &project{
		dir: filepath.Join(top, "demo"), steps: filepath.Join(top, "steps"), home: filepath.Join(top, "home"),
		port: freePort(t), inline: map[string]string{},
	}
	mark := "GAFFER_TEST_PROJECT=" + top
	t.Cleanup(func() {
		testenv.Wait(t, "the end of all processes of the page", func() error {
			left := testenv.ProcessesWith(mark)
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL) // ignore the error: the process may have ended
			}
			if len(left) > 0 {
				return fmt.Errorf("processes %v are there", left)
			}
			return nil
		})
		if err := os.RemoveAll(top); err != nil {
			t.Error(err)
		}
	})
	bin := filepath.Join(top, "bin")
	for _, dir := range []string{p.dir, p.steps, p.home, bin} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{"gaffer": testenv.Program(t), "keys": self}
	stubs, err := filepath.Glob("testdata/bin/*")
	if err != nil || len(stubs) == 0 {
		t.Fatalf("%d stubs, %v", len(stubs), err)
	}
	for _, stub := range stubs {
		programs[filepath.Base(stub)] = stub
	}
	for name, path := range programs {
		path, err := filepath.Abs(path)
		if err == nil {
			err = os.Symlink(path, filepath.Join(bin, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	p.env = []string{
		mark, "HOME=" + p.home, "XDG_STATE_HOME=" + filepath.Join(p.home, "state"), "PATH=" + bin + ":" + os.Getenv("PATH"), "EXAMPLES=" + examples, "GAFFER_TRUST=all",
		"ANTHROPIC_API_KEY=x", "CODEX_API_KEY=x", "GEMINI_API_KEY=x", // as if the reader were logged in
		"TERM=xterm", "NO_COLOR=1", "LANG=C.UTF-8", "TZ=UTC", "BROWSER=true",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=n@example.com", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=n@example.com",
	}
	p.write(t, "~/.curlrc", "fail\nno-progress-meter\n") // curl then exits with an error for an HTTP error
	if fixture == nil {
		return p
	}
	for _, f := range fixture.Files {
		if f.Name == "inline" {
			for line := range strings.Lines(string(f.Data)) {
				span, command, ok := strings.Cut(strings.TrimSpace(line), " => ")
				if !ok {
					t.Fatalf("inline: %q is not SPAN => COMMAND", line)
				}
				p.inline[span] = command
			}
			continue
		}
		if f.Name == "setup.sh" {
			defer func() {
				if out, err := p.run("set -eu\n" + string(f.Data)); err != nil {
					t.Fatalf("setup: %v\n%s", err, out)
				}
			}()
			continue
		}
		p.write(t, f.Name, string(f.Data))
	}
	return p
}

func (p *project) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		path = filepath.Join(p.home, rest)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// run runs a command in a separate shell and returns its output.
func (p *project) run(command string) (string, error) {
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// shell is the single shell in which the commands of a page run, so that they share
// variables, functions and jobs.
type shell struct {
	*project
	t       *testing.T
	stdin   io.Writer
	status  *os.File // the shell writes the exit code of each command here
	lines   *bufio.Reader
	count   int
	replace []string
	jobs    []job
}

// job is a running service of a page, such as a server.
type job struct {
	kind               int // index of the service in services
	pid, about, output string
}

func newShell(t *testing.T, p *project) *shell {
	t.Helper()
	s := &shell{project: p, t: t, replace: []string{
		"127.0.0.1:4870", "127.0.0.1:" + p.port, "127.0.0.1:4871", "127.0.0.1:" + p.port,
		"0.0.0.0:4870", "127.0.0.1:" + p.port, "build.example:4870", "127.0.0.1:" + p.port,
	}}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc")
	cmd.Dir, cmd.Env, cmd.ExtraFiles = p.dir, p.env, []*os.File{w}
	s.stdin, err = cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close() // ignore the error: the shell has a separate descriptor
	s.status, s.lines = r, bufio.NewReader(r)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // ignore the error: the process may have ended
		_ = cmd.Wait()         // ignore the error: the shell was killed
		_ = r.Close()          // ignore the error: it was opened only for reading
	})
	s.send("set -u -o pipefail")
	return s
}

func (s *shell) send(line string) {
	if _, err := io.WriteString(s.stdin, line+"\n"); err != nil {
		s.t.Fatalf("the shell of the page: %v", err)
	}
}

// answer returns the next status line that the shell writes. Errors name the command.
func (s *shell) answer(command string) string {
	s.t.Helper()
	if err := s.status.SetReadDeadline(time.Now().Add(testenv.Patience)); err != nil {
		s.t.Fatal(err)
	}
	line, err := s.lines.ReadString('\n')
	if err != nil {
		s.t.Fatalf("%s: no end: %v", command, err)
	}
	return strings.TrimSpace(line)
}

// service is a kind of command that runs until it is stopped.
type service struct {
	form  *regexp.Regexp
	ready string // text that the service prints when it is ready
	exits bool   // SIGTERM ends the service with exit code 0
}

var services = []service{
	{regexp.MustCompile(`^(env \S+ )?gaffer serve\b`), "Listening on", true},
	{regexp.MustCompile(`^gaffer worker\b`), "takes tasks of", true},
	{regexp.MustCompile(`^gaffer demo\b`), "Ctrl-C", true},
	{regexp.MustCompile(`^gaffer state watch\b`), "=", false},
	{regexp.MustCompile(`^gaffer inbox process --watch\b`), "", false},
	{regexp.MustCompile(`^curl -N\b`), "event: hello", false},
}

// do runs a command and returns its output, stdout and stderr together, and its exit code. For a
// service it returns the output until the service is ready, and 0.
func (s *shell) do(line int, text string) (string, int) {
	s.t.Helper()
	shown := text
	text = strings.NewReplacer(s.replace...).Replace(text)
	if plain, _, _ := strings.Cut(text, " #"); strings.Contains(plain, "gaffer serve") && !strings.Contains(plain, "--listen") {
		text = strings.Replace(text, "gaffer serve", "gaffer serve --listen 127.0.0.1:"+s.port, 1)
	}
	s.count++
	step := filepath.Join(s.steps, strconv.Itoa(s.count))
	output := step + ".out"
	defer s.send("OUTPUT=" + output)
	about := fmt.Sprintf("line %d: %s", line, shown)
	kind := slices.IndexFunc(services, func(s service) bool { return s.form.MatchString(text) && !strings.Contains(text, "&") })
	if kind < 0 {
		s.save(step, text)
		s.send(fmt.Sprintf(". %s 3>&- >%s 2>&1 </dev/null; echo $? >&3", step, output))
		code, err := strconv.Atoi(s.answer(about))
		if err != nil {
			s.t.Fatalf("%s: %v", about, err)
		}
		return s.output(output), code
	}
	s.stop(kind)
	s.save(step, "exec "+text)
	s.send(fmt.Sprintf("( . %s ) 3>&- >%s 2>&1 </dev/null & echo $! >&3", step, output))
	j := job{kind: kind, pid: s.answer(about), about: about, output: output}
	s.jobs = append(s.jobs, j)
	testenv.Wait(s.t, "readiness of "+about, func() error {
		if out := s.output(output); !strings.Contains(out, services[kind].ready) {
			if s.send("kill -0 " + j.pid + " 2>/dev/null; echo $? >&3"); s.answer(about) != "0" {
				s.t.Fatalf("%s: it ended:\n%s", about, out)
			}
			return fmt.Errorf("it prints %q", out)
		}
		return nil
	})
	return s.output(output), 0
}

func (s *shell) save(path, text string) {
	s.t.Helper()
	if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shell) output(path string) string {
	s.t.Helper()
	out, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(out)
}

// every, passed to stop, means services of all kinds.
const every = -1

// stop stops the services of a kind, the one that was started last first.
func (s *shell) stop(kind int) {
	s.t.Helper()
	var left []job
	for _, j := range slices.Backward(s.jobs) {
		if kind != every && j.kind != kind {
			left = append(left, j)
			continue
		}
		s.send(fmt.Sprintf("kill %s; wait %s; echo $? >&3", j.pid, j.pid))
		if code := s.answer("the end of " + j.about); code != "0" && services[j.kind].exits {
			s.t.Errorf("%s: exit code %s after SIGTERM:\n%s", j.about, code, s.output(j.output))
		}
	}
	slices.Reverse(left)
	s.jobs = left
}

// ports is the number of ports that were assigned to pages so far.
var ports atomic.Int32

// freePort returns a port on which no program listens, another one for each page. A page uses it
// much later, so it is outside the range from which the kernel assigns ports.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(20000 + (os.Getpid()+int(ports.Add(1)))%10000)
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close() // ignore the error: there was no connection
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}
