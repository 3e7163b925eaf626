package terminalview

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gaffer/fleet"
	"gaffer/internal/attempt/tmux"
	"gaffer/internal/testkit/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const session = "agent-bd-1"

// agent is a task whose agent runs in a tmux session. The agent prints each line that is typed, and
// ends when the line is "end".
type agent struct {
	t      *testing.T
	server *tmux.Server
	views  Views

	mu   sync.Mutex
	task fleet.Task
}

func newAgent(t *testing.T) *agent {
	t.Helper()
	a := &agent{t: t, server: newServer(t)}
	a.begin(1)
	return a
}

func newServer(t *testing.T) *tmux.Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "view-")
	if err != nil {
		t.Fatal(err)
	}
	s := tmux.New(filepath.Join(dir, "s"))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		list, err := s.List(ctx)
		for _, one := range list {
			err = errors.Join(err, s.End(ctx, one.Name))
		}
		testenv.Wait(t, "the end of tmux", func() error {
			alive, err := s.Alive(ctx)
			if alive {
				err = errors.New("it is alive")
			}
			return err
		})
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return s
}

// begin starts an attempt.
func (a *agent) begin(attempt int) {
	a.t.Helper()
	const script = `echo ready; while read line; do [ "$line" = end ] && exit; [ "$line" = flood ] && seq -f 'line %.0f of the flood' 200000; echo "got $line"; done`
	if err := a.server.Start(a.t.Context(), session, []string{"/bin/sh", "-c", script}, []string{"PATH=" + os.Getenv("PATH")}, "/"); err != nil {
		a.t.Fatal(err)
	}
	a.is(fleet.Running, &fleet.Attempt{Number: attempt, Started: time.Now()})
}

// is changes the task.
func (a *agent) is(status fleet.Status, attempt *fleet.Attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.task = fleet.Task{ID: "bd-1", Session: session, Status: status, Attempt: attempt}
}

func (a *agent) find(context.Context) (fleet.Task, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.task, nil
}

// client is one view and what it was shown.
type client struct {
	*View
	t     *testing.T
	stop  context.CancelFunc
	ended chan error
	block chan struct{} // if it is not nil, output waits until it is closed

	mu     sync.Mutex
	output strings.Builder // output of the current screen
	total  int             // number of bytes of output
	state  fleet.TerminalState
}

func (a *agent) open(user string, size fleet.TerminalSize, block chan struct{}) *client {
	a.t.Helper()
	v, err := a.views.Open(Request{Server: a.server, Session: session, Task: a.find, User: user, Size: size})
	if err != nil {
		a.t.Fatal(err)
	}
	c := &client{View: v, t: a.t, ended: make(chan error, 1), block: block}
	ctx, stop := context.WithCancel(a.t.Context())
	over := make(chan struct{})
	c.stop = func() { stop(); <-over }
	go func() {
		defer close(over)
		c.ended <- v.Run(ctx, c.show, c.report)
	}()
	a.t.Cleanup(c.stop)
	return c
}

func (c *client) show(data []byte) error {
	if c.block != nil {
		<-c.block
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.output.Write(data)
	c.total += len(data)
	return nil
}

func (c *client) report(s fleet.TerminalState) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.Screen != c.state.Screen {
		c.output.Reset()
	}
	c.state = s
	return nil
}

func (c *client) now() fleet.TerminalState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func (c *client) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.output.String()
}

func (c *client) sees(text string) {
	c.t.Helper()
	testenv.WaitFor(c.t, fmt.Sprintf("%q on the screen", text), c.text, func(all string) bool { return strings.Contains(all, text) })
}

func (c *client) until(what string, holds func(fleet.TerminalState) bool) {
	c.t.Helper()
	testenv.WaitFor(c.t, what, c.now, holds)
}

func (c *client) takes() {
	c.t.Helper()
	c.TakeKeyboard()
	c.until("the keyboard", func(s fleet.TerminalState) bool { return s.Mine })
}

var (
	wide   = fleet.TerminalSize{Columns: 100, Rows: 30}
	narrow = fleet.TerminalSize{Columns: 50, Rows: 20}
)

func TestOnlyTheViewThatTookTheKeyboardTypes(t *testing.T) {
	a := newAgent(t)
	ann, bob := a.open("ann", wide, nil), a.open("bob", wide, nil)
	ann.sees("ready")
	bob.sees("ready")
	ann.Type([]byte("one\r"))
	ann.takes()
	ann.Type([]byte("two\r"))
	bob.Type([]byte("three\r"))
	bob.sees("got two")
	bob.until("ann's name", func(s fleet.TerminalState) bool { return s.Typist == "ann" && !s.Mine })
	bob.takes()
	ann.until("bob's name", func(s fleet.TerminalState) bool { return s.Typist == "bob" && !s.Mine })
	ann.Type([]byte("four\r"))
	bob.Type([]byte("five\r"))
	ann.sees("got five")
	bob.ReleaseKeyboard()
	ann.until("a free keyboard", func(s fleet.TerminalState) bool { return s.Typist == "" })
	bob.until("a free keyboard", func(s fleet.TerminalState) bool { return s.Typist == "" && !s.Mine })
	bob.Type([]byte("six\r"))
	ann.takes()
	ann.Type([]byte("seven\r"))
	bob.sees("got seven")
	screen, err := a.server.Capture(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"one", "three", "four", "six"} {
		if strings.Contains(screen, not) {
			t.Errorf("%s was typed:\n%s", not, screen)
		}
	}
}

func TestTheKeyboardIsFreeWhenItsViewLeavesOrDetaches(t *testing.T) {
	a := newAgent(t)
	ann, bob := a.open("ann", wide, nil), a.open("bob", wide, nil)
	ann.sees("ready")
	ann.takes()
	ann.Type([]byte("\x02d")) // tmux's key for detaching
	ann.until("a free keyboard", func(s fleet.TerminalState) bool { return s.Typist == "" && s.Phase == fleet.TerminalLive })
	ann.sees("ready")
	ann.takes()
	bob.until("ann's name", func(s fleet.TerminalState) bool { return s.Typist == "ann" })
	ann.stop()
	bob.until("a free keyboard", func(s fleet.TerminalState) bool { return s.Typist == "" })
	bob.takes()
	bob.Type([]byte("still there\r"))
	bob.sees("got still there")
}

func TestAllViewsHaveTheSizeOfTheOneThatTypes(t *testing.T) {
	a := newAgent(t)
	size := func(want fleet.TerminalSize) func(fleet.TerminalState) bool {
		return func(s fleet.TerminalState) bool { return s.TerminalSize == want }
	}
	ann := a.open("ann", wide, nil)
	ann.until("its size", size(wide))
	bob := a.open("bob", narrow, nil)
	ann.until("the size of the latest", size(narrow))
	ann.takes()
	bob.until("the size of the typist", size(wide))
	bob.Resize(fleet.TerminalSize{Columns: 1, Rows: 10_000})
	ann.Resize(fleet.TerminalSize{Columns: 90, Rows: 25})
	bob.until("the typist's new size", size(fleet.TerminalSize{Columns: 90, Rows: 25}))
	bob.sees("ready")
	window(t, a.server, tmux.Size{Columns: 90, Rows: 25})
	bob.takes()
	ann.until("the least and the most", size(fleet.TerminalSize{Columns: minColumns, Rows: maxRows}))

	user := newServer(t)
	argv := a.server.AttachCommand(session, false)
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := user.Start(t.Context(), "user", append([]string{path}, argv[1:]...), os.Environ(), "/"); err != nil {
		t.Fatal(err)
	}
	theirs := fleet.TerminalSize{Columns: 200, Rows: 50}
	ann.until("the size of the user's terminal", size(theirs))
	bob.until("the size of the user's terminal", size(theirs))
	bob.Resize(narrow)
	window(t, a.server, tmux.Size(theirs))
	if err := user.End(t.Context(), "user"); err != nil {
		t.Fatal(err)
	}
	ann.until("the typist's size again", size(narrow))
}

// window waits until the session's window has a size.
func window(t *testing.T, s *tmux.Server, want tmux.Size) {
	t.Helper()
	testenv.Wait(t, fmt.Sprintf("a window of %v", want), func() error {
		size, _, err := s.Window(t.Context(), session)
		if err == nil && size != want {
			err = fmt.Errorf("it is %v", size)
		}
		return err
	})
}

func TestASlowClientIsShownTheLatestScreenAndDelaysNobody(t *testing.T) {
	a := newAgent(t)
	ready := make(chan struct{})
	slow, fast := a.open("slow", wide, ready), a.open("fast", wide, nil)
	fast.takes()
	fast.Type([]byte("flood\r"))
	fast.sees("got flood")
	close(ready)
	slow.sees("got flood")
	slow.mu.Lock()
	defer slow.mu.Unlock()
	if slow.total > 2<<20 { // the flood has 5 MB
		t.Errorf("it got %d bytes", slow.total)
	}
}

func TestAViewSaysHowTheAgentEndedAndKeepsTheLastScreen(t *testing.T) {
	a := newAgent(t)
	c := a.open("ann", wide, nil)
	c.takes()
	c.Type([]byte("last words\r"))
	c.sees("got last words")
	screen := c.now().Screen
	c.Type([]byte("end\r"))
	c.until("a closed terminal", func(s fleet.TerminalState) bool { return s.Phase == fleet.TerminalClosed && !s.Mine })
	a.is(fleet.Failed, &fleet.Attempt{Number: 1, Class: "failed", Exit: 3, Summary: "it broke"})
	if err := <-c.ended; err != nil {
		t.Fatal(err)
	}
	got := c.now()
	if got.Phase != fleet.TerminalEnded || got.Status != fleet.Failed || got.Class != "failed" || got.Exit != 3 || got.Summary != "it broke" || got.Attempt != 1 {
		t.Errorf("%+v", got)
	}
	if got.Screen != screen || !strings.Contains(c.text(), "got last words") || strings.Contains(c.text(), "[exited]") {
		t.Errorf("screen %d, was %d:\n%q", got.Screen, screen, c.text())
	}
}

func TestAViewShowsTheNextAttempt(t *testing.T) {
	a := newAgent(t)
	c := a.open("ann", wide, nil)
	c.takes()
	c.Type([]byte("end\r"))
	c.until("a closed terminal", func(s fleet.TerminalState) bool { return s.Phase == fleet.TerminalClosed })
	a.is(fleet.Queued, &fleet.Attempt{Number: 1, Class: "failed", Exit: 1, Ended: time.Now()})
	c.until("the wait for another attempt", func(s fleet.TerminalState) bool { return s.Phase == fleet.TerminalWaiting && s.Class == "failed" })
	a.begin(2)
	c.until("the next attempt", func(s fleet.TerminalState) bool {
		return s.Phase == fleet.TerminalLive && s.Attempt == 2 && s.Class == "" && s.Typist == ""
	})
	c.sees("ready")
}

func TestAnEndedTaskDoesNotShowTheTerminalOfALaterRun(t *testing.T) {
	a := newAgent(t)
	a.is(fleet.Complete, &fleet.Attempt{Number: 1})
	c := a.open("ann", wide, nil)
	if err := <-c.ended; err != nil || c.now().Phase != fleet.TerminalEnded || c.text() != "" {
		t.Errorf("%v, %+v, %q", err, c.now(), c.text())
	}
}

func TestTheNumberOfViewsIsLimited(t *testing.T) {
	a := newAgent(t)
	a.is(fleet.Queued, nil)
	for range maxOpen {
		a.open("ann", wide, nil)
	}
	if _, err := a.views.Open(Request{Server: a.server, Session: session, Task: a.find}); !errors.As(err, new(*TooManyError)) {
		t.Errorf("%v", err)
	}
}

func TestAViewThatIsStoppedDetaches(t *testing.T) {
	a := newAgent(t)
	c := a.open("ann", wide, nil)
	c.sees("ready")
	c.stop()
	if err := <-c.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	testenv.Wait(t, "no client", func() error {
		list, err := a.server.List(t.Context())
		if err == nil && (len(list) != 1 || list[0].Attached != 0) {
			err = fmt.Errorf("%+v", list)
		}
		return err
	})
	if len(a.views.shared) != 0 || a.views.open != 0 {
		t.Errorf("%d are open, %v", a.views.open, a.views.shared)
	}
}
