package discover

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/hookevents"
	"gaffer/internal/testkit/testenv"
	"gaffer/statefile/host"
)

// tmuxStage is a tmux server in which a test runs programs under the names of agents.
type tmuxStage struct {
	*testing.T
	dir, socket string
	finder      *Finder
	clockOffset time.Duration // how far the Finder's clock is ahead
}

func newStage(t *testing.T) *tmuxStage {
	t.Helper()
	dir, err := os.MkdirTemp("", "gi-")
	if err != nil {
		t.Fatal(err)
	}
	s := &tmuxStage{T: t, dir: dir, socket: filepath.Join(dir, "sock")}
	s.finder = NewFinder(dir, dir, func() time.Time { return time.Now().Add(s.clockOffset) })
	t.Cleanup(func() {
		_ = s.tmux("kill-server").Run() // fails if there is no server
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *tmuxStage) tmux(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", s.socket, "-f", os.DevNull}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TERM=xterm", "LANG=C.UTF-8"}
	return cmd
}

func (s *tmuxStage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// startAs runs a copy of cat under the name of an agent program, in a terminal and in the given
// folder. It returns the pid.
func (s *tmuxStage) startAs(program, folder string, env ...string) int {
	s.Helper()
	pid := s.start(program, folder, "exec "+s.copyProgram("/bin/cat", program), env...)
	s.hasVariable(pid, "HOME")
	return pid
}

// copyProgram copies a program under another name and returns the path of the copy.
func (s *tmuxStage) copyProgram(from, as string) string {
	s.Helper()
	binary := filepath.Join(s.dir, as)
	if _, err := os.Stat(binary); err != nil {
		s.must(copyFile(from, binary))
	}
	return binary
}

// start runs a command in a terminal, and waits until its process has the name of the program. It
// returns the pid.
func (s *tmuxStage) start(program, folder, command string, env ...string) int {
	s.Helper()
	dir := filepath.Join(s.dir, folder)
	s.must(os.MkdirAll(dir, 0o755))
	args := []string{"new-session", "-d", "-P", "-F", "#{pane_pid}", "-s", folder, "-c", dir}
	for _, v := range env {
		args = append(args, "-e", v)
	}
	out, err := s.tmux(append(args, command)...).Output()
	s.must(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	s.must(err)
	testenv.Wait(s, program+" runs", func() error {
		if p, ok := agentproc.Find(pid); !ok || p.Name != program {
			return fmt.Errorf("process %+v, alive %v", p, ok)
		}
		return nil
	})
	return pid
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}

// hasVariable waits until the environment of a process contains the named variable.
func (s *tmuxStage) hasVariable(pid int, name string) {
	s.Helper()
	testenv.Wait(s, fmt.Sprintf("variable %s of %d", name, pid), func() error {
		if len(agentproc.Variables(pid, name)) == 0 {
			p, ok := agentproc.Find(pid)
			return fmt.Errorf("process %+v, alive %v", p, ok)
		}
		return nil
	})
}

// all returns the agents that this stage has started. It leaves out other agents on the machine.
func (s *tmuxStage) all() (list []Agent) {
	s.Helper()
	all, err := s.finder.Find(s.Context())
	s.must(err)
	for _, one := range all {
		if strings.HasPrefix(one.Dir, s.dir) || one.Dir == "" {
			list = append(list, one)
		}
	}
	return list
}

// find returns the agent that the Finder has found for a process.
func (s *tmuxStage) find(pid int) (Agent, bool) {
	s.Helper()
	for _, one := range s.all() {
		if one.PID == pid {
			return one, true
		}
	}
	return Agent{}, false
}

// awaitStatus waits until the Finder reports this status for a process, and this source of the
// status.
func (s *tmuxStage) awaitStatus(pid int, status hookevents.Status, source Source) Agent {
	s.Helper()
	var last Agent
	// This may take long: after a tmux server did not answer, the Finder does not query it for
	// skipUnansweredFor.
	testenv.Wait(s, fmt.Sprintf("%d is %s by %s", pid, status, source), func() error {
		if last, _ = s.find(pid); last.Status != status || last.Source != source {
			return fmt.Errorf("%+v", last)
		}
		return nil
	})
	return last
}

// recordEvent records a hook event of a process.
func (s *tmuxStage) recordEvent(program string, pid int, session, event string) {
	s.Helper()
	process := host.Process{}
	if pid > 0 {
		var err error
		process, err = host.Identify(pid)
		s.must(err)
	}
	_, err := hookevents.NewFolder(s.dir).Update(s.Context(), program, session, func(doc hookevents.Session) hookevents.Session {
		doc, _ = hookevents.Apply(doc, hookevents.Event{Program: program, Name: event, Session: session, Tool: "Bash", Doing: "make"}, time.Now())
		doc.Process = process
		return doc
	})
	s.must(err)
}

func (s *tmuxStage) note(pid int, status, start string) {
	s.Helper()
	dir := filepath.Join(s.dir, ".claude/sessions")
	s.must(os.MkdirAll(dir, 0o755))
	text := fmt.Sprintf(`{"pid":%d,"sessionId":"x","procStart":%q,"status":%q,"statusUpdatedAt":1700000000000}`, pid, start, status)
	s.must(os.WriteFile(filepath.Join(dir, strconv.Itoa(pid)+".json"), []byte(text), 0o600))
}

func TestTheStatusOfClaudeComesFromItsSessionFileThenHooksThenScreen(t *testing.T) {
	s := newStage(t)
	pid := s.startAs(agentproc.Claude, "web")
	s.awaitStatus(pid, hookevents.Idle, FromProcess)
	s.must(s.tmux("send-keys", "-t", "web", "Do you trust the files in this folder?").Run())
	if got := s.awaitStatus(pid, hookevents.Waiting, FromScreen); got.For != "needs set-up: trust the folder" {
		t.Errorf("%+v", got)
	}
	s.recordEvent(agentproc.Claude, pid, "one", "UserPromptSubmit")
	first := s.awaitStatus(pid, hookevents.Running, FromHook)
	p, _ := agentproc.Find(pid)
	s.note(pid, "waiting", "1")
	s.awaitStatus(pid, hookevents.Running, FromHook)
	s.note(pid, "waiting", fmt.Sprint(p.Start))
	got := s.awaitStatus(pid, hookevents.Waiting, FromFile)
	if got.Since.UnixMilli() != 1700000000000 || got.ID != first.ID || got.Name != fmt.Sprintf("claude-%d", pid) || got.Dir != filepath.Join(s.dir, "web") {
		t.Errorf("%+v", got)
	}
	s.must(hookevents.NewFolder(s.dir).StoreUsage(hookevents.Usage{Session: "x", Context: 12.5, CostUSD: 0.25}))
	if got, _ := s.find(pid); got.Context != 12.5 || got.CostUSD != 0.25 {
		t.Errorf("%+v", got)
	}
	s.must(syscall.Kill(pid, syscall.SIGKILL))
	testenv.Wait(s, "nothing is seen of it", func() error {
		if seen, ok := s.find(pid); ok {
			return fmt.Errorf("%+v", seen)
		}
		return nil
	})
}

func TestClearKeepsTheSameWorker(t *testing.T) {
	s := newStage(t)
	pid := s.startAs(agentproc.Claude, "web")
	s.recordEvent(agentproc.Claude, pid, "one", "UserPromptSubmit")
	before := s.awaitStatus(pid, hookevents.Running, FromHook)
	s.recordEvent(agentproc.Claude, pid, "one", "SessionEnd")
	s.recordEvent(agentproc.Claude, pid, "two", "SessionStart")
	after := s.awaitStatus(pid, hookevents.Idle, FromHook)
	s.recordEvent(agentproc.Claude, pid, "two", "PermissionRequest")
	s.awaitStatus(pid, hookevents.Waiting, FromHook)
	if list := s.all(); before.ID != after.ID || after.Session != "two" || len(list) != 1 {
		t.Errorf("%+v", list)
	}
	s.clockOffset = 2 * time.Minute
	s.find(pid)
	if docs, _ := hookevents.NewFolder(s.dir).All(s.finder.now()); len(docs) != 1 {
		t.Errorf("%d documents are kept", len(docs))
	}
}

func TestTheTitleOfCodexShowsItsStatus(t *testing.T) {
	testenv.Integration(t)
	s := newStage(t)
	pid := s.startAs(agentproc.Codex, "web")
	s.recordEvent(agentproc.Codex, pid, "one", "UserPromptSubmit")
	s.awaitStatus(pid, hookevents.Running, FromHook)
	for title, want := range map[string]hookevents.Status{"web": hookevents.Idle, "⠏ web": hookevents.Running, "[ ! ] Action Required | web": hookevents.Waiting} {
		s.must(s.tmux("select-pane", "-T", title, "-t", "web").Run())
		if got := s.awaitStatus(pid, want, FromTitle); got.Pane == "" {
			t.Errorf("%+v", got)
		}
	}
	// Stop the tmux server: the Finder must not wait for it a second time.
	out, err := s.tmux("display-message", "-p", "#{pid}").Output()
	s.must(err)
	server, err := strconv.Atoi(strings.TrimSpace(string(out)))
	s.must(err)
	testenv.Stop(s.T, server)
	s.awaitStatus(pid, hookevents.Running, FromHook)
	silent := maps.Clone(s.finder.unansweredAt) // when each tmux server last did not answer
	s.awaitStatus(pid, hookevents.Running, FromHook)
	if len(silent) == 0 || !maps.Equal(silent, s.finder.unansweredAt) {
		t.Errorf("a server that hangs was asked in vain at %v, then at %v", silent, s.finder.unansweredAt)
	}
	s.must(syscall.Kill(server, syscall.SIGCONT))
}

func TestAnAgentThatGafferRunsIsNotListed(t *testing.T) {
	s := newStage(t)
	mine := s.startAs(agentproc.Claude, "mine", "GAFFER_ATTEMPT=a1")
	theirs := s.startAs(agentproc.Claude, "theirs")
	s.awaitStatus(theirs, hookevents.Idle, FromProcess)
	if got, ok := s.find(mine); ok {
		t.Errorf("%+v", got)
	}
}

// If the Finder sees a process before its environment is set, it reads the environment again later.
func TestTheEnvironmentOfANewProcessIsReadAgain(t *testing.T) {
	s := newStage(t)
	claude := s.copyProgram("/bin/sh", agentproc.Claude)
	script := filepath.Join(s.dir, "script")
	s.must(os.WriteFile(script, []byte("read go\nexec /usr/bin/env GAFFER_ATTEMPT=a1 "+claude+" -c 'read go'\n"), 0o600))
	pid := s.start(agentproc.Claude, "web", "exec /usr/bin/env -i "+claude+" "+script)
	s.awaitStatus(pid, hookevents.Idle, FromProcess)
	s.must(s.tmux("send-keys", "-t", "web", "Enter").Run())
	s.hasVariable(pid, "GAFFER_ATTEMPT")
	if got, ok := s.find(pid); ok {
		t.Errorf("%+v", got)
	}
}

func TestASessionWithoutAProcessIsMatchedByItsFolder(t *testing.T) {
	s := newStage(t)
	pid := s.startAs(agentproc.Codex, "web")
	doc := func(session string) {
		_, err := hookevents.NewFolder(s.dir).Update(t.Context(), agentproc.Codex, session, func(hookevents.Session) hookevents.Session {
			return hookevents.Session{Program: agentproc.Codex, Session: session, Status: hookevents.Running, At: time.Now(), Dir: filepath.Join(s.dir, "web")}
		})
		s.must(err)
	}
	doc("one")
	if got := s.awaitStatus(pid, hookevents.Running, FromHook); got.Session != "one" {
		t.Errorf("%+v", got)
	}
	if list := s.all(); len(list) != 1 {
		t.Errorf("%+v", list)
	}
	doc("two") // now two sessions in one folder cannot be assigned to processes
	s.awaitStatus(pid, hookevents.Idle, FromProcess)
}

func TestDocumentsOfOldSessionsAreDeleted(t *testing.T) {
	s := newStage(t)
	cmd := exec.Command("sleep", "60")
	s.must(cmd.Start())
	s.recordEvent(agentproc.Claude, cmd.Process.Pid, "dead", "UserPromptSubmit")
	s.recordEvent(agentproc.Gemini, 0, "unknown", "BeforeAgent")
	if got := s.awaitStatus(cmd.Process.Pid, hookevents.Running, FromHook); got.Dir != "" {
		t.Errorf("%+v", got)
	}
	s.must(cmd.Process.Kill())
	_ = cmd.Wait() // the error is expected: it was killed
	count := func(after time.Duration) (docs, seen int) {
		s.clockOffset = after
		list := s.all()
		kept, _ := hookevents.NewFolder(s.dir).All(s.finder.now())
		return len(kept), len(list)
	}
	for _, c := range []struct {
		after      time.Duration
		docs, seen int
	}{{0, 2, 1}, {59 * time.Minute, 2, 1}, {61 * time.Minute, 1, 0}, {23 * time.Hour, 1, 0}, {25 * time.Hour, 0, 0}} {
		if docs, seen := count(c.after); docs != c.docs || seen != c.seen {
			t.Errorf("after %s: %d documents, %d agents; want %d, %d", c.after, docs, seen, c.docs, c.seen)
		}
	}
}

func TestASessionFileOfAnotherProcessIsIgnored(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sessions"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sessions", "42.json")
	for _, text := range []string{"", "{", "[]", `{"pid": 43, "status": "idle"}`, `{"pid": "42"}`, `{"pid": 42, "status": 7}`, strings.Repeat(" ", 65<<10)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n := readSessionFile(dir, 42); n != nil {
			t.Errorf("%.40s: %+v", text, n)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if n := readSessionFile(dir, 42); n != nil {
		t.Errorf("a pipe: %+v", n)
	}
}

// BenchmarkFind measures Find on a machine with its usual processes and no agents.
func BenchmarkFind(b *testing.B) {
	l := NewFinder(b.TempDir(), b.TempDir(), time.Now)
	for b.Loop() {
		if _, err := l.Find(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
