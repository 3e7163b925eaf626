package watch

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
)

// testProject is a project with a separate state folder. Every process started in it inherits an
// environment variable with its folder, and is killed at the end of the test.
type testProject struct {
	t      *testing.T
	binary string
	dir    string
	server string // address of the server, or "" if none was started
}

const mark = "WATCH_TEST"

func newPlace(t *testing.T, files map[string]string) *testProject {
	t.Helper()
	binary := testenv.Program(t)
	dir, err := os.MkdirTemp("", "watch-") // not t.TempDir: its path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	p := &testProject{t: t, binary: binary, dir: dir}
	t.Cleanup(p.end)
	for name, text := range files {
		path := filepath.Join(dir, "web", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// env returns the environment of processes in this project. state is the name of their state
// folder.
func (p *testProject) env(state string) []string {
	list := []string{
		"HOME=" + p.dir, "PATH=" + filepath.Dir(p.binary) + ":" + os.Getenv("PATH"), "XDG_STATE_HOME=" + filepath.Join(p.dir, state),
		"GAFFER_PROJECT=" + filepath.Join(p.dir, "web"), "LANG=C.UTF-8", "TZ=UTC", mark + "=" + p.dir,
	}
	if p.server != "" {
		list = append(list, "GAFFER_SERVER="+p.server)
	}
	return list
}

func (p *testProject) end() {
	variable := mark + "=" + p.dir
	testenv.Wait(p.t, "the end of all processes", func() error {
		left := testenv.ProcessesWith(variable)
		if len(left) == 0 {
			return nil
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // ignore the error: the process may have ended
		}
		return fmt.Errorf("processes %v", left)
	})
	if err := os.RemoveAll(p.dir); err != nil {
		p.t.Error(err)
	}
}

// gaffer runs a command to its end and returns its output.
func (p *testProject) gaffer(args ...string) string {
	p.t.Helper()
	cmd := exec.Command(p.binary, args...)
	cmd.Dir, cmd.Env = filepath.Join(p.dir, "web"), p.env("state")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("gaffer %s: %v\n%s%s", strings.Join(args, " "), err, out, said.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// start runs a command in the background and waits until its output contains want. It returns the
// process and the line with that text.
func (p *testProject) start(state, want string, more []string, args ...string) (*os.Process, string) {
	p.t.Helper()
	cmd := exec.Command(p.binary, args...)
	out := filepath.Join(p.dir, fmt.Sprintf("%s-%d.out", args[0], time.Now().UnixNano()))
	file, err := os.Create(out)
	if err != nil {
		p.t.Fatal(err)
	}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = filepath.Join(p.dir, "web"), append(p.env(state), more...), file, file
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	_ = file.Close() // the process has its own copy of the descriptor
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }() // ignore the result of the process
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill() // ignore the error: the process may have ended
		<-ended
	})
	line := ""
	p.until(fmt.Sprintf("%q in its output", want), func() (string, bool) {
		data, _ := os.ReadFile(out)
		for text := range strings.Lines(string(data)) {
			if strings.Contains(text, want) {
				line = strings.TrimSpace(text)
			}
		}
		return string(data), line != ""
	})
	return cmd.Process, line
}

// until calls poll repeatedly until it returns ok = true.
func (p *testProject) until(what string, poll func() (seen string, ok bool)) {
	p.t.Helper()
	testenv.Wait(p.t, what, func() error {
		if seen, ok := poll(); !ok {
			return fmt.Errorf("\n%s", seen)
		}
		return nil
	})
}

// serve starts a server. After a restart the server has the same address.
func (p *testProject) serve() *os.Process {
	p.t.Helper()
	listen := "127.0.0.1:0"
	if p.server != "" {
		listen = strings.TrimPrefix(p.server, "http://")
	}
	process, line := p.start("state", "Listening on", nil, "serve", "--listen", listen)
	p.server = strings.TrimPrefix(line, "Listening on ")
	return process
}

func (p *testProject) worker(name string) *os.Process {
	p.t.Helper()
	token, err := os.ReadFile(filepath.Join(p.dir, "state", "gaffer", "token"))
	if err != nil {
		p.t.Fatal(err)
	}
	process, _ := p.start("state-"+name, "takes tasks", []string{"GAFFER_TOKEN=" + strings.TrimSpace(string(token))}, "worker", "--name", name, "--slots", "4")
	return process
}
