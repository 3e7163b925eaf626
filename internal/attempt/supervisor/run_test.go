package supervisor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/testkit/testenv"
)

func TestTheExitCodeIsRecorded(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(a.shell("echo out; echo err >&2; exit 3"))
		e := wait(t, p)
		if e.Code != 3 || e.Signal != "" || e.StopReason != "" || e.Failed != "" || e.Lost || e.Swept != 0 || e.Attempt != a.id {
			t.Errorf("exit %+v", e)
		}
		if got := a.text(); got != "out\nerr\n" || e.LogFrom != 0 || e.LogTo != int64(len(got)) {
			t.Errorf("log %q, from %d to %d", got, e.LogFrom, e.LogTo)
		}
		if e.Started.IsZero() || e.Ended.Before(e.Started) || e.Started.Location() != time.UTC || e.Usage.MaxRSS == 0 {
			t.Errorf("times and usage of %+v", e)
		}
		if recorded := a.recorded(); recorded.Code != 3 || !recorded.Ended.Equal(e.Ended) {
			t.Errorf("told %+v, recorded %+v", e, recorded)
		}
	})
}

// recorded returns the last exit record in the lock.
func (a *attempt) recorded() (e supervisor.Exit) {
	a.t.Helper()
	records := a.lines("exit ")
	if len(records) == 0 {
		a.t.Fatal("there is no record")
	}
	if err := json.Unmarshal([]byte(records[len(records)-1]), &e); err != nil {
		a.t.Fatal(err)
	}
	return e
}

// lines returns the lines of the lock that start with a word, without that word.
func (a *attempt) lines(word string) (list []string) {
	a.t.Helper()
	data, err := os.ReadFile(a.lock())
	if err != nil {
		a.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, word); ok {
			list = append(list, rest)
		}
	}
	return list
}

func (a *attempt) lock() string { return filepath.Join(a.dir, "lock") }

func TestTheSignalThatKilledTheAgentIsRecorded(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		e := wait(t, a.start(a.shell("kill -SEGV $$")))
		if e.Code != -1 || e.Signal != "SIGSEGV" || e.StopReason != "" {
			t.Errorf("exit %+v", e)
		}
	})
}

func TestTheLogIsAppendedTo(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		if err := os.WriteFile(a.log, []byte("before\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		e := wait(t, a.start(a.shell("echo after")))
		if got := a.text(); got != "before\nafter\n" || e.LogFrom != 7 || e.LogTo != 13 {
			t.Errorf("log %q, from %d to %d", got, e.LogFrom, e.LogTo)
		}
	})
}

func TestAnAgentWithoutInputReadsTheEndOfItAtOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(a.shell("cat; readlink /proc/self/fd/0"))
		if err := p.Input([]byte("late")); err == nil {
			t.Error("input was taken")
		}
		wait(t, p)
		if got := a.text(); got != "/dev/null\n" {
			t.Errorf("it read %q", got)
		}
	})
}

func TestTheAgentReadsItsInputAndThenEOF(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("cat")
		spec.Input = []byte("a prompt\n")
		if e := wait(t, a.start(spec)); e.Code != 0 || a.text() != "a prompt\n" {
			t.Errorf("exit %+v, it read %q", e, a.text())
		}
	})
}

func TestOpenInputIsPassedPieceByPiece(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("while read line; do echo got $line; done; echo end")
		spec.Input, spec.Open = []byte("one\n"), true
		p := a.start(spec)
		a.awaitLine("got one")
		if err := p.Input([]byte("two\n")); err != nil {
			t.Fatal(err)
		}
		a.awaitLine("got two")
		if err := p.CloseInput(); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, p); e.Code != 0 || !strings.HasSuffix(a.text(), "end\n") {
			t.Errorf("exit %+v, it said %q", e, a.text())
		}
		var over *supervisor.OverError
		if err := p.Input([]byte("three\n")); !errors.As(err, &over) {
			t.Errorf("input after the end: %v", err)
		}
		if err := errors.Join(p.CloseInput(), p.Stop("late", false)); err != nil {
			t.Errorf("close and stop after the end: %v", err)
		}
	})
}

// A process that adopts an attempt does not know which input the earlier, killed process has sent,
// so it may send the input again.
func TestInputWithTheSameKeyIsPassedOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("while read line; do echo got $line; done")
		spec.Open = true
		p := a.start(spec)
		big := strings.Repeat("x", 300<<10) + "\n" // needs more than one order
		for _, line := range []string{"one\n", big} {
			if err := p.InputOnce(line[:3], []byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		again, _ := a.attach()
		defer again.Close()
		for _, line := range []string{"one\n", big, "two\n"} {
			if err := again.InputOnce(line[:3], []byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		if err := again.CloseInput(); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, p); e.Code != 0 || a.text() != "got one\ngot "+big+"got two\n" {
			t.Errorf("exit %+v, it said %d bytes", e, len(a.text()))
		}
	})
}

func TestInputAfterItsEndIsRefused(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("echo ready; exec sleep 1000")
		spec.Open = true
		p := a.start(spec)
		if err := p.CloseInput(); err != nil {
			t.Fatal(err)
		}
		var refused *supervisor.OrderError
		if err := p.Input([]byte("more")); !errors.As(err, &refused) || !refused.Conflict() {
			t.Errorf("input after its end: %v", err)
		}
	})
}

func TestUnreadInputBlocksNothing(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("echo ready; exec sleep 1000")
		spec.Input, spec.Open = bytes.Repeat([]byte("x"), 10<<20), true
		p := a.start(spec)
		a.awaitLine("ready")
		if err := p.Input(bytes.Repeat([]byte("y"), 4<<20)); err != nil {
			t.Fatal(err)
		}
		if s, err := p.Status(); err != nil || s.Doing != "running" || s.Pending != 14<<20 {
			t.Errorf("status %+v, %v", s, err)
		}
		if err := p.Input(make([]byte, 4<<20)); err == nil || !strings.Contains(err.Error(), "does not read") {
			t.Errorf("input without end: %v", err)
		}
		if err := p.Stop("enough", false); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, p); e.StopReason != "enough" || e.Signal != "SIGINT" {
			t.Errorf("exit %+v", e)
		}
	})
}

func TestAnAgentMayExitWithoutReadingItsInput(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("exit 5")
		spec.Input = bytes.Repeat([]byte("x"), 10<<20)
		if e := wait(t, a.start(spec)); e.Code != 5 {
			t.Errorf("exit %+v", e)
		}
	})
}

func TestTheAgentHasItsOwnEnvironmentFolderAndGroup(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		spec := a.shell(`echo "$GAFFER_ATTEMPT $A $B"; pwd; ps -o pgid= -p $$ | grep -q "^ *$$\$" && echo leads`)
		spec.Env = []string{"PATH=" + os.Getenv("PATH"), "A=1", supervisor.Mark + "=somebody else's"}
		spec.Dir = dir
		wait(t, a.start(spec))
		if want := a.id + " 1 \n" + dir + "\nleads\n"; a.text() != want {
			t.Errorf("it said %q, should be %q", a.text(), want)
		}
	})
}

func TestSecretsOfTheEnvironmentAreInNoFile(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("test -n \"$KEY\"")
		spec.Env = []string{"PATH=" + os.Getenv("PATH"), "KEY=secret-of-mine"}
		if e := wait(t, a.start(spec)); e.Code != 0 {
			t.Errorf("the agent has no key: %+v", e)
		}
		files, err := filepath.Glob(filepath.Join(a.dir, "*"))
		if err != nil || len(files) < 1 {
			t.Fatalf("files %v, %v", files, err)
		}
		for _, file := range files {
			if info, err := os.Lstat(file); err == nil && info.Mode().Type() == os.ModeSocket {
				continue // skip this try: the agent ran long enough for the socket to be created
			}
			if data, err := os.ReadFile(file); err != nil || bytes.Contains(data, []byte("secret-of-mine")) {
				t.Errorf("%s: %q, %v", file, data, err)
			}
		}
	})
}

func TestOnlyTheUserCanReadTheFolder(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		a.start(a.shell("exec sleep 1000"))
		testenv.Wait(t, "the socket", func() error { _, err := os.Lstat(filepath.Join(a.dir, "socket")); return err })
		for name, want := range map[string]os.FileMode{
			"": os.ModeDir | 0o700, "socket": os.ModeSocket | 0o600, "started.json": 0o600, "lock": 0o600,
		} {
			info, err := os.Lstat(filepath.Join(a.dir, name))
			if err != nil || info.Mode() != want {
				t.Errorf("%q is %v, %v", name, info.Mode(), err)
			}
		}
	})
}

func TestAnAgentThatCannotBeStartedFails(t *testing.T) {
	testenv.Integration(t)
	for name, c := range map[string]struct {
		change func(*supervisor.Spec)
		want   string
	}{
		"no program":       {func(s *supervisor.Spec) { s.Argv = []string{"no-such-program-here"} }, "no-such-program-here: no such program in PATH"},
		"no program there": {func(s *supervisor.Spec) { s.Argv = []string{"/no/such/program"} }, "run /no/such/program: no such file"},
		"no folder":        {func(s *supervisor.Spec) { s.Dir = "/no/such/folder" }, "folder to run in: stat /no/such/folder: no such file"},
		"a file as folder": {func(s *supervisor.Spec) { s.Dir = "/etc/passwd" }, "/etc/passwd is not a folder"},
		"no folder of log": {func(s *supervisor.Spec) { s.Log = "/no/such/folder/log" }, "log: open /no/such/folder/log: no such file"},
		"a device as log":  {func(s *supervisor.Spec) { s.Log = "/dev/full" }, "log: /dev/full is not a file"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, a *attempt) {
				spec := a.shell("true")
				c.change(&spec)
				_, err := a.try(t.Context(), spec)
				var failed *supervisor.FailedError
				if !errors.As(err, &failed) || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("error %v", err)
				}
				if e := a.recorded(); e.Failed != failed.Exit.Failed || e.Code != -1 || e.Attempt != a.id {
					t.Errorf("recorded %+v", e)
				}
				p, state := a.attach()
				if e := wait(t, p); state != supervisor.Exited || e.Failed == "" || e.Lost {
					t.Errorf("%s, %+v", state, e)
				}
			})
		})
	}
}

func TestAnInvalidSpecCreatesNothing(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		good := a.shell("true")
		for _, change := range []func(*supervisor.Spec){
			func(s *supervisor.Spec) { s.Attempt = "" },
			func(s *supervisor.Spec) { s.Attempt = "a\x00b" },
			func(s *supervisor.Spec) { s.Argv = nil },
			func(s *supervisor.Spec) { s.Log = "" },
			func(s *supervisor.Spec) { s.Env = []string{"A=1\x00B=2"} },
		} {
			spec := good
			change(&spec)
			var bad *supervisor.SpecError
			if _, err := a.try(t.Context(), spec); !errors.As(err, &bad) || !bad.Invalid() {
				t.Errorf("%+v: %v", spec, err)
			}
		}
		if _, err := os.Stat(a.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder: %v", err)
		}
	})
}

func TestAFolderIsUsedOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		wait(t, a.start(a.shell("echo once")))
		_, err := a.try(t.Context(), a.shell("echo twice"))
		var used *supervisor.UsedError
		if !errors.As(err, &used) || !used.Conflict() || !strings.Contains(err.Error(), a.dir) {
			t.Errorf("error %v", err)
		}
		if a.text() != "once\n" {
			t.Errorf("it said %q", a.text())
		}
	})
}

func TestAFolderThatCannotBeCreatedIsAnError(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		if err := os.WriteFile(a.log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{filepath.Join(a.log, "folder"), "/proc/no/such"} {
			a.dir = dir
			if _, err := a.try(t.Context(), a.shell("true")); err == nil || !strings.Contains(err.Error(), filepath.Dir(dir)) {
				t.Errorf("%s: %v", dir, err)
			}
		}
	})
}

func TestASupervisorThatCannotBeStartedIsAnError(t *testing.T) {
	testenv.Integration(t)
	for name, command := range map[string][]string{
		"no such program":      {"/no/such/gaffer"},
		"a program that fails": {"/bin/sh", "-c", "echo no such thing >&2; exit 1"},
		"one that is silent":   {"/bin/true"},
	} {
		opts := supervisor.Options{Command: command}
		for way, start := range map[string]starts{
			"alone": func(dir string, spec supervisor.Spec) (*supervisor.Process, error) {
				return supervisor.Start(t.Context(), dir, spec, opts)
			},
			"in a pool": func(dir string, spec supervisor.Spec) (*supervisor.Process, error) {
				return newPool(t, opts, 1).Start(t.Context(), dir, spec)
			},
		} {
			t.Run(name+" "+way, func(t *testing.T) {
				a := newAttempt(t)
				_, err := start(a.dir, a.shell("true"))
				if err == nil || !strings.HasPrefix(err.Error(), "start supervisor: ") {
					t.Fatalf("error %v", err)
				}
				t.Log(err)
				if strings.Contains(name, "fails") && !strings.Contains(err.Error(), "no such thing") {
					t.Error("its last words are not told")
				}
				if _, state := a.attach(); state != supervisor.Lost {
					t.Errorf("it is %s", state)
				}
			})
		}
	}
}

func TestTheLockSaysHowAnAttemptEndedWithoutAReport(t *testing.T) {
	const killed = "the supervisor was killed"
	for name, c := range map[string]struct {
		wrote string // content that the supervisor wrote to the lock; ID stands for the attempt's id
		err   string
		exit  supervisor.Exit
	}{
		"nothing":                          {err: "start supervisor: the supervisor was never started"},
		"who it is":                        {wrote: `held {}\n`, exit: supervisor.Exit{Code: -1, Lost: true, Failed: killed}},
		"and that the agent has ended":     {wrote: `held {}\nexit {"attempt":"ID","code":3}\n`, exit: supervisor.Exit{Code: 3}},
		"and half of that":                 {wrote: `held {}\nexit {"attempt":"ID","co`, exit: supervisor.Exit{Code: -1, Lost: true, Failed: killed}},
		"and that it could not be started": {wrote: `held {}\nexit {"attempt":"ID","failed":"no such agent"}\n`, err: "start agent of attempt ID: no such agent"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(t)
			line := strings.ReplaceAll(c.wrote, "ID", a.id)
			dies := supervisor.Options{Command: []string{"/bin/sh", "-c", "printf '" + line + "' >&4; kill -9 $$"}}
			p, err := supervisor.Start(t.Context(), a.dir, a.shell("true"), dies)
			if err != nil || c.err != "" {
				if want := strings.ReplaceAll(c.err, "ID", a.id); err == nil || err.Error() != want {
					t.Errorf("error %v, want %s", err, want)
				}
				return
			}
			found, _ := a.attach()
			for _, p := range []*supervisor.Process{p, found} {
				if e := wait(t, p); e.Code != c.exit.Code || e.Lost != c.exit.Lost || e.Failed != c.exit.Failed {
					t.Errorf("exit %+v, want %+v", e, c.exit)
				}
			}
		})
	}
}

func TestAnExitThatCannotBeRecordedIsReported(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(a.shell("mv " + a.lock() + " " + a.lock() + ".elsewhere; exit 7"))
		if e := wait(t, p); e.Code != 7 || !strings.Contains(e.Unrecorded, "lock was deleted or replaced") {
			t.Errorf("exit %+v", e)
		}
	})
}

func TestAForgedRecordIsReplaced(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(a.shell("echo 'exit {\"attempt\":\"" + a.id + "\",\"code\":0}' >> " + a.lock() + "; echo forged; exec sleep 1000"))
		a.awaitLine("forged")
		second, state := a.attach()
		if state != supervisor.Alive {
			t.Errorf("with a forged record it is %s", state)
		}
		if err := p.Stop("forger", true); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, second); e.Signal != "SIGKILL" || a.recorded().Signal != "SIGKILL" {
			t.Errorf("told %+v, recorded %+v", e, a.recorded())
		}
	})
}
