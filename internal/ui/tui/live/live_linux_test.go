package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
	"gaffer/internal/ui/tui/terminal"
)

// pty is a pseudo-terminal. The test reads and writes its other side.
type pty struct {
	user, program *os.File
	mu            sync.Mutex
	seen          bytes.Buffer
}

func newPTY(t *testing.T, width, height uint16) *pty {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(user.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pty{user: user, program: program}
	p.resize(t, width, height)
	read := make(chan struct{})
	go func() { defer close(read); p.read() }()
	t.Cleanup(func() {
		_ = program.Close() // ignore the error: no data can be lost
		<-read              // wait for the reader, which ends when the program's side is closed
		_ = user.Close()
	})
	return p
}

func (p *pty) read() {
	buf := make([]byte, 4096)
	for {
		n, err := p.user.Read(buf)
		p.mu.Lock()
		p.seen.Write(buf[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *pty) resize(t *testing.T, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(p.user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		t.Fatal(err)
	}
}

func (p *pty) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

func (p *pty) waitFor(t *testing.T, text string) {
	t.Helper()
	testenv.Wait(t, fmt.Sprintf("%q on the screen", text), func() error {
		if screen := p.screen(); !strings.Contains(screen, text) {
			return fmt.Errorf("%q", screen)
		}
		return nil
	})
}

func (p *pty) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := p.user.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

func (p *pty) mode(t *testing.T) unix.Termios {
	t.Helper()
	mode, err := unix.IoctlGetTermios(int(p.program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *mode
}

// shown is a live view that is shown on a pty.
type shown struct {
	*pty
	term    *terminal.Terminal
	before  unix.Termios
	runs    chan fleet.Run
	notes   chan string
	actions chan Action
	ended   chan error
	do      ActionKind
}

func show(t *testing.T, ctx context.Context, act func(Action)) *shown { //nolint:revive // the test comes first
	t.Helper()
	s := &shown{pty: newPTY(t, 80, 24), runs: make(chan fleet.Run), notes: make(chan string), actions: make(chan Action, 10), ended: make(chan error, 1)}
	s.before = s.mode(t)
	var err error
	if s.term, err = terminal.Open(s.program, s.program); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer func() {
			if r := recover(); r != nil {
				s.ended <- fmt.Errorf("panic: %v", r)
			}
		}()
		var err error
		s.do, err = Show(ctx, s.term, Options{
			Now: func() time.Time { return now }, Runs: s.runs, Notes: s.notes,
			Act: func(_ context.Context, a Action) string {
				act(a)
				s.actions <- a
				return "done that"
			},
		})
		s.ended <- err
	}()
	return s
}

func (s *shown) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.ended:
		s.waitFor(t, terminal.LeaveScreen)
		if after := s.mode(t); after != s.before {
			t.Errorf("the terminal was %+v and is %+v", s.before, after)
		}
		return err
	case <-time.After(testenv.Patience):
		t.Fatal("the view did not end")
		return nil
	}
}

func nothing(Action) {}

func TestTheViewAnswersAndEndsWithTheRun(t *testing.T) {
	s := show(t, context.Background(), nothing)
	s.runs <- release()
	s.waitFor(t, "page asks")
	s.press(t, "2\r")
	if got := <-s.actions; got != (Action{Kind: Answer, Question: "q1", Text: "No"}) {
		t.Errorf("did %+v", got)
	}
	s.waitFor(t, "done that")
	close(s.runs)
	if err := s.wait(t); err != nil || s.do != NoAction {
		t.Errorf("%v, %v", s.do, err)
	}
}

func TestAnAnswerThatWasNotAcceptedCanBeGivenAgain(t *testing.T) {
	testenv.Integration(t)
	s := show(t, context.Background(), nothing)
	s.runs <- release()
	s.waitFor(t, "page asks")
	s.press(t, "2\r")
	<-s.actions
	deadline := time.After(testenv.Patience)
	for again := false; !again; {
		s.press(t, "1\r") // ignored, because the question is not shown yet
		select {
		case got := <-s.actions:
			again = true
			if got != (Action{Kind: Answer, Question: "q1", Text: "Yes"}) {
				t.Errorf("did %+v", got)
			}
		case <-deadline:
			t.Fatal("it is never asked again")
		case <-time.After(minFrame):
		}
	}
	close(s.runs)
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
}

func TestEveryAnswerIsSentThoughTheFirstTakesLongAndTheUserDetaches(t *testing.T) {
	const count = 20
	goOn := make(chan struct{})
	answered := make(chan string, count+1)
	s := show(t, context.Background(), func(a Action) {
		<-goOn
		answered <- a.Question
	})
	r := fleet.Run{ID: "20260201-142726-0c0ffee0", Name: "many", Status: fleet.Running, Created: now}
	for i := range count {
		id := fmt.Sprintf("q%02d", i)
		r.Tasks = append(r.Tasks, fleet.Task{ID: id, Name: id, Status: fleet.Running, Attempt: &fleet.Attempt{Number: 1, Started: now, Activity: fleet.Activity{State: "waiting"}}, Question: &fleet.Question{
			ID: id, Name: id, Task: id, Text: "Is this " + id + "?", Options: []string{"Yes", "No"}, Asked: now.Add(time.Duration(i)),
		}})
	}
	r.Counts.Running = count
	s.runs <- r
	for i := range count {
		s.waitFor(t, fmt.Sprintf("Is this q%02d?", i))
		s.press(t, "1\r")
	}
	s.press(t, "\x03")
	s.waitFor(t, "[d]etach")
	s.press(t, "d")
	close(goOn)
	go func() {
		for range s.actions {
		}
	}()
	if err := s.wait(t); err != nil || s.do != Detach {
		t.Errorf("%v, %v", s.do, err)
	}
	close(s.actions)
	for i := range count {
		if got, want := <-answered, fmt.Sprintf("q%02d", i); got != want {
			t.Fatalf("answer %d is to %q, want %q", i, got, want)
		}
	}
}

func TestANoteIsShownEvenWhileTheUserTypes(t *testing.T) {
	testenv.Integration(t)
	s := show(t, context.Background(), nothing)
	s.runs <- release()
	s.waitFor(t, "release")
	for i := range 5 {
		note := fmt.Sprintf("note %d", i)
		s.press(t, "x") // draw a frame now, so that the note waits for the next frame
		time.Sleep(minFrame / 5)
		s.notes <- note
		s.press(t, "xxx")
		s.waitFor(t, note)
	}
	close(s.runs)
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
}

func TestCtrlCIsAKeyAndNotASignal(t *testing.T) {
	s := show(t, context.Background(), nothing)
	s.runs <- release()
	s.waitFor(t, "release")
	s.press(t, "\x03")
	s.waitFor(t, "[d]etach")
	if got := <-s.actions; got.Kind != Stop {
		t.Errorf("did %+v", got)
	}
	s.press(t, "d")
	if err := s.wait(t); err != nil || s.do != Detach {
		t.Errorf("%v, %v", s.do, err)
	}
}

func TestAResizedTerminalIsRedrawn(t *testing.T) {
	s := show(t, context.Background(), nothing)
	s.runs <- release()
	s.waitFor(t, "123k tokens")
	s.resize(t, 20, 5)
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	s.waitFor(t, terminal.EraseScreen+"\x1b[1;1H"+terminal.EraseLine+"release 1.4")
	close(s.runs)
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
}

func TestTheTerminalIsRestoredWhenTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := show(t, ctx, nothing)
	s.runs <- release()
	s.waitFor(t, "release")
	why := errors.New("why")
	cancel(why)
	if err := s.wait(t); !errors.Is(err, why) {
		t.Error(err)
	}
}

func TestTheTerminalIsRestoredWhenAnActionPanics(t *testing.T) {
	s := show(t, context.Background(), func(Action) { panic("oh") })
	s.runs <- release()
	s.waitFor(t, "release")
	s.press(t, "\x03")
	if err := s.wait(t); err == nil || !strings.HasPrefix(err.Error(), "panic: oh") {
		t.Error(err)
	}
}

func TestAnUnchangedFrameWritesNothing(t *testing.T) {
	var out bytes.Buffer
	s := terminal.NewScreen(&out)
	rows := View{Run: release(), Now: now}.Lines(80, 24, true)
	if err := s.Draw(rows); err != nil || out.Len() == 0 {
		t.Fatalf("%d bytes, %v", out.Len(), err)
	}
	first := out.Len()
	if err := s.Draw(rows); err != nil || out.Len() != first {
		t.Errorf("again %d bytes, %v", out.Len()-first, err)
	}
	if err := s.Draw(append(rows[:1:1], "x")); err != nil {
		t.Fatal(err)
	}
	if changed := out.String()[first:]; !strings.HasPrefix(changed, "\x1b[2;1H\x1b[2Kx") || strings.Count(changed, "\x1b[1;1H") > 0 {
		t.Errorf("wrote %q", changed)
	}
}
