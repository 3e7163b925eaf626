package tmux

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"gaffer/internal/testkit/testenv"
)

// Environment variables that make the test program act as a program in a session. They have its
// role, and the folder in which it reports what it does.
const (
	role  = "TMUX_TEST_ROLE"
	place = "TMUX_TEST_PLACE"
)

func TestMain(m *testing.M) {
	if act := os.Getenv(role); act != "" {
		if err := actAs(act, os.Getenv(place)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// started is what the test program reports about itself when it starts in a session.
type started struct {
	Argv, Env []string
	Dir       string
	PID       int
}

func actAs(act, dir string) error {
	hangup := make(chan os.Signal, 1)
	if act == "hangup" {
		signal.Notify(hangup, syscall.SIGHUP)
	}
	if err := writeReport(dir); err != nil {
		return err
	}
	switch act {
	case "end":
		return nil
	case "hangup":
		<-hangup
		return os.WriteFile(filepath.Join(dir, "hangup"), nil, 0o600)
	case "speak":
		for i := range 300 {
			fmt.Printf("line %d ä\n", i)
		}
		fmt.Println(strings.Repeat("long ", 100) + "end, 50%")
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func writeReport(dir string) error {
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(started{os.Args, os.Environ(), wd, os.Getpid()}); err != nil {
		return err
	}
	name := filepath.Join(dir, fmt.Sprintf("%d.started", os.Getpid()))
	if err := os.WriteFile(name+".part", data.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".part", name)
}

// program is the test program that runs in a session, in one of its roles.
type program struct {
	t     *testing.T
	path  string
	place string
	env   []string
}

func newProgram(t *testing.T, act string) program {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "gaffer-tmux-")
	if err != nil {
		t.Fatal(err)
	}
	// Wait for the program's end: it may still be starting, and writing into its folder, when the
	// test ends.
	t.Cleanup(func() {
		testenv.Wait(t, "the removal of the program's folder", func() error { return os.RemoveAll(dir) })
	})
	return program{t, path, dir, []string{role + "=" + act, place + "=" + dir, "PATH=" + os.Getenv("PATH")}}
}

func (p program) start(s *Server, session string, args ...string) {
	p.t.Helper()
	if err := s.Start(p.t.Context(), session, append([]string{p.path}, args...), p.env, p.place); err != nil {
		p.t.Fatal(err)
	}
}

// awaitReports waits until n programs have started, and returns their reports.
func (p program) awaitReports(n int) (list []started) {
	p.t.Helper()
	var files []string
	testenv.Wait(p.t, fmt.Sprintf("%d programs", n), func() error {
		if files, _ = filepath.Glob(filepath.Join(p.place, "*.started")); len(files) < n {
			return fmt.Errorf("%q have started", files)
		}
		return nil
	})
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			p.t.Fatal(err)
		}
		var one started
		if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&one); err != nil {
			p.t.Fatal(err)
		}
		list = append(list, one)
	}
	if len(list) != n {
		p.t.Fatalf("%d programs were started, want %d", len(list), n)
	}
	return list
}

// newServer returns a server that is ended when the test ends.
func newServer(t *testing.T) *Server {
	t.Helper()
	// Use a short path: the path of the test's own folder is too long for a socket.
	dir, err := os.MkdirTemp("", "tmux-")
	if err != nil {
		t.Fatal(err)
	}
	s := New(filepath.Join(dir, "server", "socket"))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		pid, err := s.pid(ctx)
		if err != nil {
			t.Error(err)
		}
		if pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // fails if the process has ended in the meantime
			awaitNoServer(t, s)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return s
}

// awaitNoServer waits until no server is listening.
func awaitNoServer(t *testing.T, s *Server) {
	t.Helper()
	testenv.Wait(t, "the end of the server", func() error {
		if s.listening() {
			return fmt.Errorf("one listens at %s", s.socket)
		}
		return nil
	})
}

// awaitEnd waits until a session no longer exists.
func awaitEnd(t *testing.T, s *Server, session string) {
	t.Helper()
	testenv.Wait(t, "the end of session "+session, func() error {
		if list, err := s.List(t.Context()); err != nil || has(t, s, session) {
			return errors.Join(fmt.Errorf("the sessions are %+v", list), err)
		}
		return nil
	})
}

// awaitText waits until a session's terminal contains a text, and returns the complete
// screen.
func awaitText(t *testing.T, s *Server, session, want string) (text string) {
	t.Helper()
	testenv.Wait(t, fmt.Sprintf("%q in the terminal of %s", want, session), func() error {
		if text = screen(t, s, session); !strings.Contains(text, want) {
			return fmt.Errorf("it has\n%s", text)
		}
		return nil
	})
	return text
}

func has(t *testing.T, s *Server, session string) bool {
	t.Helper()
	ok, err := s.Has(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func onlySession(t *testing.T, s *Server) Session {
	t.Helper()
	list, err := s.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v; want one session", list, err)
	}
	return list[0]
}

func screen(t *testing.T, s *Server, session string) string {
	t.Helper()
	text, err := s.Capture(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
