package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
)

func TestAMissingServerHasNoSessionsAndIsNoError(t *testing.T) {
	s := newServer(t)
	list, err := s.List(t.Context())
	if len(list) != 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	if alive, err := s.Alive(t.Context()); alive || err != nil {
		t.Errorf("%v, %v", alive, err)
	}
	if err := s.End(t.Context(), "agent-a"); err != nil {
		t.Error(err)
	}
	if _, err := s.Capture(t.Context(), "agent-a"); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("%v", err)
	}
}

func TestASessionIsFoundByItsWholeNameOnly(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	p.start(s, "agent-bd-10", "x")
	if has(t, s, "agent-bd-1") || !has(t, s, "agent-bd-10") {
		t.Error("agent-bd-1 is taken for agent-bd-10")
	}
	if _, err := s.Capture(t.Context(), "agent-bd-1"); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("%v", err)
	}
	if err := s.End(t.Context(), "agent-bd-1"); err != nil {
		t.Error(err)
	}
	p.start(s, "agent-bd-1", "y")
	if err := s.End(t.Context(), "agent-bd-1"); err != nil {
		t.Error(err)
	}
	if onlySession(t, s).Name != "agent-bd-10" {
		t.Error("the wrong session was ended")
	}
}

func TestASessionIsListedWithItsProgram(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	before := time.Now().Add(-time.Minute)
	p.start(s, "agent-ä b", "x")
	one := onlySession(t, s)
	if one.Name != "agent-ä b" || one.PID != p.awaitReports(1)[0].PID || one.Attached != 0 || one.Created.Before(before) {
		t.Errorf("%+v", one)
	}
}

func TestASessionEndsWithItsProgramAndTheServerWithTheLast(t *testing.T) {
	s, p := newServer(t), newProgram(t, "end")
	p.start(s, "agent-a", "x")
	awaitEnd(t, s, "agent-a")
	testenv.Wait(t, "the end of the server", func() error {
		alive, err := s.Alive(t.Context())
		if err == nil && alive {
			err = errors.New("it is alive")
		}
		return err
	})
}

func TestTheProgramOfAnEndedSessionReceivesSIGHUP(t *testing.T) {
	s, p := newServer(t), newProgram(t, "hangup")
	p.start(s, "agent-a", "x")
	p.awaitReports(1)
	if err := s.End(t.Context(), "agent-a"); err != nil {
		t.Fatal(err)
	}
	p.awaitHangup(t)
}

// awaitHangup waits until the program has received SIGHUP.
func (p program) awaitHangup(t *testing.T) {
	t.Helper()
	testenv.Wait(t, "a hangup", func() error { _, err := os.Stat(filepath.Join(p.place, "hangup")); return err })
}

func TestAStartAfterTheServerWasKilledStartsAnother(t *testing.T) {
	s, p := newServer(t), newProgram(t, "hangup")
	p.start(s, "agent-a", "x")
	p.awaitReports(1)
	pid, err := s.pid(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitNoServer(t, s)
	if alive, err := s.Alive(t.Context()); alive || err != nil {
		t.Errorf("alive %v, %v", alive, err)
	}
	if has(t, s, "agent-a") {
		t.Error("the session is still there")
	}
	p.awaitHangup(t)
	next := newProgram(t, "wait")
	next.start(s, "agent-a", "x")
	if onlySession(t, s).PID != next.awaitReports(1)[0].PID {
		t.Error("the session has another program")
	}
}

func TestAServerThatHangsBlocksNoCall(t *testing.T) {
	testenv.Integration(t)
	s, p := newServer(t), newProgram(t, "wait")
	p.start(s, "agent-a", "x")
	pid, err := s.pid(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }() // fails only if the server has ended
	testenv.Stop(t, pid)
	hasty := New(s.socket)
	hasty.timeout = 500 * time.Millisecond
	if _, err := hasty.Has(t.Context(), "agent-a"); !errors.As(err, new(*TimeoutError)) {
		t.Errorf("has: %v", err)
	}
	if err := hasty.Start(t.Context(), "agent-b", []string{p.path, "x"}, p.env, p.place); !errors.As(err, new(*TimeoutError)) {
		t.Errorf("start: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := s.Alive(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("alive: %v", err)
	}
}

func TestCaptureIncludesScrolledOffLines(t *testing.T) {
	s, p := newServer(t), newProgram(t, "speak")
	p.start(s, "agent-a", "x")
	lines := strings.Split(awaitText(t, s, "agent-a", "50%"), "\n")
	if len(lines) != 302 || lines[0] != "line 0 ä" || lines[299] != "line 299 ä" || lines[300] != strings.Repeat("long ", 100)+"end, 50%" {
		t.Errorf("%d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-2])
	}
}

func TestAttachingAndDetachingDoNotChangeTheSession(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	p.start(s, "agent-bd-1", "x")
	p.start(s, "agent-bd-10", "x")
	before, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	person := attach(t, s, "agent-bd-1", false)
	if shown := person.screen(); !strings.Contains(shown, "agent-bd-1 ") || !strings.Contains(shown, "detach: Ctrl-b d") {
		t.Errorf("the status line is not there:\n%s", shown)
	}
	person.typeKeys("hello", "Enter")
	awaitText(t, s, "agent-bd-1", "hello")
	person.typeKeys("C-b", "&", "y", "C-b", "x", "y", "C-b", "c", "C-b", ":", "C-b", "$", "Enter")
	person.detach()
	after, err := s.List(t.Context())
	if err != nil || !slices.Equal(before, after) {
		t.Errorf("%v, %v; before it was %v", after, err, before)
	}
	if out, _, err := s.query(t.Context(), "list-panes", "-a", "-F", "pane"); err != nil || out != "pane\npane\n" {
		t.Errorf("%q, %v; want a pane for each session", out, err)
	}
}

func TestAReadOnlyClientCannotType(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	p.start(s, "agent-a", "x")
	person := attach(t, s, "agent-a", true)
	person.typeKeys("secret", "Enter", "C-c")
	person.detach()
	if text := screen(t, s, "agent-a"); strings.Contains(text, "secret") {
		t.Errorf("what was typed came through: %q", text)
	}
	if err := syscall.Kill(onlySession(t, s).PID, 0); err != nil {
		t.Errorf("the program has ended: %v", err)
	}
}

func TestAnAttachedTerminalIsFreeWhenTheSessionEnds(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	p.start(s, "agent-a", "x")
	p.start(s, "agent-b", "x")
	person := attach(t, s, "agent-a", false)
	if err := s.End(t.Context(), "agent-a"); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, person.terminal, "person")
	if !has(t, s, "agent-b") {
		t.Error("the other session has ended as well")
	}
}

// userTerminal imitates a user's terminal. It is a session of another tmux server.
type userTerminal struct {
	t        *testing.T
	s        *Server
	session  string
	terminal *Server
}

func attach(t *testing.T, s *Server, session string, readOnly bool) userTerminal {
	t.Helper()
	argv := s.AttachCommand(session, readOnly)
	tmux, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatal(err)
	}
	argv[0] = tmux
	p := userTerminal{t, s, session, newServer(t)}
	if err := p.terminal.Start(t.Context(), "person", argv, []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}, "/"); err != nil {
		t.Fatal(err)
	}
	p.awaitAttached(1)
	awaitText(t, p.terminal, "person", "detach")
	return p
}

// awaitAttached waits until so many terminals are attached to the session.
func (p userTerminal) awaitAttached(want int) {
	p.t.Helper()
	testenv.Wait(p.t, fmt.Sprintf("%d terminals at %s", want, p.session), func() error {
		list, err := p.s.List(p.t.Context())
		if err != nil {
			p.t.Fatal(err)
		}
		at := slices.IndexFunc(list, func(one Session) bool { return one.Name == p.session })
		if at < 0 {
			p.t.Fatalf("%s: no such session", p.session)
		}
		if list[at].Attached != want {
			return fmt.Errorf("%+v", list[at])
		}
		return nil
	})
}

func (p userTerminal) screen() string { p.t.Helper(); return screen(p.t, p.terminal, "person") }

func (p userTerminal) typeKeys(keys ...string) {
	p.t.Helper()
	if _, _, err := p.terminal.query(p.t.Context(), append([]string{"send-keys", "-t", "=person:"}, keys...)...); err != nil {
		p.t.Fatal(err)
	}
}

// detach detaches from the session, and waits until the program in the user's terminal has ended.
func (p userTerminal) detach() {
	p.t.Helper()
	p.typeKeys("C-b", "d")
	awaitEnd(p.t, p.terminal, "person")
	p.awaitAttached(0)
}
