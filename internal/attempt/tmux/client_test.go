package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gaffer/internal/testkit/testenv"
)

// shown collects the output of a client.
type shown struct {
	*Client
	mu    sync.Mutex
	text  strings.Builder
	ended chan struct{} // closed at the end of the output
}

func attachClient(t *testing.T, s *Server, session string, readOnly bool, size Size) *shown {
	t.Helper()
	c, err := s.AttachClient(t.Context(), session, readOnly, size)
	if err != nil {
		t.Fatal(err)
	}
	v := &shown{Client: c, ended: make(chan struct{})}
	go func() {
		defer close(v.ended)
		buffer := make([]byte, 1<<10)
		for {
			n, err := c.Read(buffer)
			if err != nil {
				return
			}
			v.mu.Lock()
			v.text.Write(buffer[:n])
			v.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		c.Close()
		<-v.ended
	})
	return v
}

func (v *shown) String() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.text.String()
}

func (v *shown) awaits(t *testing.T, text string) {
	t.Helper()
	testenv.WaitFor(t, fmt.Sprintf("%q in the client's output", text), v.String, func(all string) bool { return strings.Contains(all, text) })
}

func (v *shown) types(t *testing.T, keys string) {
	t.Helper()
	if _, err := v.Write([]byte(keys)); err != nil {
		t.Fatal(err)
	}
}

// startEcho starts a session that prints each line that is typed, with a prefix.
func startEcho(t *testing.T, s *Server, session string) {
	t.Helper()
	start(t, s, session, `echo ready; while read line; do echo "got $line"; done`)
}

func start(t *testing.T, s *Server, session, script string) {
	t.Helper()
	if err := s.Start(t.Context(), session, []string{"/bin/sh", "-c", script}, []string{"PATH=" + os.Getenv("PATH")}, "/"); err != nil {
		t.Fatal(err)
	}
}

func awaitWindow(t *testing.T, s *Server, session string, want Size, wantShared bool) {
	t.Helper()
	testenv.Wait(t, fmt.Sprintf("a window of %v", want), func() error {
		size, shared, err := s.Window(t.Context(), session)
		if err == nil && (size != want || shared != wantShared) {
			err = fmt.Errorf("it is %v, shared %v", size, shared)
		}
		return err
	})
}

func TestOnlyTheKeysOfAClientThatIsNotReadOnlyReachTheProgram(t *testing.T) {
	s := newServer(t)
	startEcho(t, s, "agent-a")
	watcher := attachClient(t, s, "agent-a", true, Size{80, 24})
	typist := attachClient(t, s, "agent-a", false, Size{80, 24})
	watcher.awaits(t, "ready")
	watcher.types(t, "no\r")
	typist.awaits(t, "ready")
	typist.types(t, "yes\r")
	watcher.awaits(t, "got yes")
	if text := awaitText(t, s, "agent-a", "got yes"); strings.Contains(text, "no") {
		t.Errorf("the terminal shows\n%s", text)
	}
}

func TestAClientNeverChangesTheSizeOfAnotherTerminal(t *testing.T) {
	s := newServer(t)
	startEcho(t, s, "agent-a")
	startEcho(t, s, "agent-b")
	c := attachClient(t, s, "agent-a", true, Size{60, 20})
	awaitWindow(t, s, "agent-a", Size{60, 20}, false)
	if err := c.Resize(Size{90, 30}); err != nil {
		t.Fatal(err)
	}
	awaitWindow(t, s, "agent-a", Size{90, 30}, false)

	attach := s.AttachCommand("agent-a", false)
	user := newServer(t) // the user's terminal is a tmux session, too
	if err := user.Start(t.Context(), "user", append([]string{mustFind(t)}, attach[1:]...), os.Environ(), "/"); err != nil {
		t.Fatal(err)
	}
	awaitWindow(t, s, "agent-a", Size{200, 50}, true)
	if err := c.Resize(Size{40, 10}); err != nil {
		t.Fatal(err)
	}
	attachClient(t, s, "agent-a", false, Size{30, 8}).types(t, "x\r")
	awaitText(t, s, "agent-a", "got x")
	awaitWindow(t, s, "agent-a", Size{200, 50}, true)
	if err := user.End(t.Context(), "user"); err != nil {
		t.Fatal(err)
	}
	testenv.Wait(t, "the end of the user's terminal", func() error {
		_, shared, err := s.Window(t.Context(), "agent-a")
		if shared {
			err = errors.New("it is attached")
		}
		return err
	})
	if _, _, err := s.Window(t.Context(), "agent-b"); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("a session without a client: %v", err)
	}
}

func mustFind(t *testing.T) string {
	t.Helper()
	path, err := find()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheOutputOfAClientEndsWithTheLastScreen(t *testing.T) {
	s := newServer(t)
	start(t, s, "agent-a", "echo the last words; read line")
	watcher := attachClient(t, s, "agent-a", true, Size{80, 24})
	typist := attachClient(t, s, "agent-a", false, Size{80, 24})
	watcher.awaits(t, "the last words")
	typist.awaits(t, "the last words")
	typist.types(t, "\r")
	<-watcher.ended
	for _, clear := range []string{"\x1b[?1049l", "[exited]", stopSequence} {
		if text := watcher.String(); strings.Contains(text, clear) {
			t.Errorf("%q is in the output %q", clear, text)
		}
	}
	if text := watcher.String(); strings.Count(text, "\x1b[2J") > 1 { // once, when the client begins
		t.Errorf("the screen is cleared: %q", text)
	}
}

func TestDetachingLeavesTheProgramRunning(t *testing.T) {
	s := newServer(t)
	startEcho(t, s, "agent-a")
	for _, readOnly := range []bool{true, false} {
		c := attachClient(t, s, "agent-a", readOnly, Size{80, 24})
		c.awaits(t, "ready")
		c.Close()
		<-c.ended
	}
	byKey := attachClient(t, s, "agent-a", false, Size{80, 24})
	byKey.awaits(t, "ready")
	byKey.types(t, "\x02d")
	<-byKey.ended
	testenv.Wait(t, "no client", func() error {
		if n := onlySession(t, s).Attached; n != 0 {
			return fmt.Errorf("%d are attached", n)
		}
		return nil
	})
	if !has(t, s, "agent-a") {
		t.Error("the session has ended")
	}
}

func TestAClientIsClosedAlthoughItsServerDoesNotAnswer(t *testing.T) {
	s := newServer(t)
	startEcho(t, s, "agent-a")
	c := attachClient(t, s, "agent-a", true, Size{80, 24})
	c.awaits(t, "ready")
	pid, err := s.pid(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) }) // so that the server can be ended
	c.Close()
	<-c.ended
}

// A client whose output is not read gets the screen of the moment at which it reads again. Otherwise
// tmux would keep all output in memory, or make the program wait.
func TestOutputThatIsNotReadIsDropped(t *testing.T) {
	s := newServer(t)
	const lines = 300_000
	start(t, s, "agent-a", fmt.Sprintf(`read line; i=0; seq -f 'line %%.0f of the flood' %d; echo over; read line`, lines))
	c, err := s.AttachClient(t.Context(), "agent-a", true, Size{80, 24})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	attachClient(t, s, "agent-a", false, Size{80, 24}).types(t, "\r")
	awaitText(t, s, "agent-a", "over")
	var text strings.Builder
	buffer := make([]byte, 1<<16)
	for !strings.Contains(text.String(), "over") {
		n, err := c.Read(buffer)
		if err != nil {
			t.Fatalf("%v after %q", err, text.String())
		}
		text.Write(buffer[:n])
	}
	if n := text.Len(); n > lines*10 { // the flood has more than twice as many bytes
		t.Errorf("%d bytes were kept", n)
	}
}

// Whoever types in a page may answer the agent, but not run commands on the server's machine.
func TestSecurityNoKeyOfAClientRunsACommand(t *testing.T) {
	s := newServer(t)
	start(t, s, "agent-a", `trap "" INT QUIT TSTP; stty -ixon; echo ready; while read line; do echo "got $line"; done`)
	mark := filepath.Join(t.TempDir(), "mark")
	run := fmt.Sprintf(`run-shell "touch %s"`, mark)
	c := attachClient(t, s, "agent-a", false, Size{80, 24})
	c.awaits(t, "ready")
	for _, keys := range []string{
		"\x02:", "\x02[g", "\x02[:", "\x02[\x13", "\x02[/", "\x02[f", "\x02[\x1b5", "\x02c", "\x02%", "\x02\"", "\x02!", "\x02s", "\x02w", "\x02&", "\x02x",
	} {
		c.types(t, keys+run+"\r")
		c.types(t, keys+`" ; `+run+` ; "`+"\r")
		c.types(t, keys+`"} ; `+run+"\r")
		c.types(t, "\x1bq\x03\r")
	}
	c.types(t, "\x1bq\x03")
	c.types(t, "\rfinally\r")
	awaitText(t, s, "agent-a", "got finally")
	if _, err := os.Stat(mark); err == nil {
		t.Error("a command was run")
	}
	out, err := exec.Command(mustFind(t), "-S", s.socket, "list-panes", "-a").Output()
	if n := strings.Count(string(out), "\n"); err != nil || n != 1 {
		t.Errorf("%d panes: %s, %v", n, out, err)
	}
}

func TestAClientNeedsARunningServer(t *testing.T) {
	s := newServer(t)
	if _, err := s.AttachClient(t.Context(), "agent-a", true, Size{80, 24}); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("%v", err)
	}
	startEcho(t, s, "agent-a")
	c, err := s.AttachClient(t.Context(), "agent-b", true, Size{80, 24})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Errorf("%v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.AttachClient(gone, "agent-a", true, Size{80, 24}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestTheStopSequenceIsFoundInChunksOfEverySize(t *testing.T) {
	const text = "a\x1b[?1l\x1b[Hb\x1b\x1b[?1l\x1b\x1b[?1l\x1b>never shown"
	for size := 1; size <= len(text); size++ {
		var f stopFilter
		var out strings.Builder
		for rest := []byte(text); len(rest) > 0; {
			chunk := rest[:min(size, len(rest))]
			rest = rest[len(chunk):]
			out.Write(chunk[:f.keep(chunk)])
		}
		want := "a\x1b[?1l\x1b[Hb\x1b\x1b[?1l\x1b"
		if got := out.String(); !f.stopped || !strings.HasPrefix(got, want) || len(got) >= len(want)+len(stopSequence) {
			t.Errorf("chunks of %d bytes: %q, stopped %v", size, got, f.stopped)
		}
	}
}
