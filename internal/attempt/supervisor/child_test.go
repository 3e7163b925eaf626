package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/testkit/testenv"
)

// TestMain lets the test program act as the supervisor and as the agents too.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "supervise":
		supervisor.SetIdleLimit(testenv.Patience) // on a busy machine it takes long from one attempt to the next
		os.Exit(supervisor.Main(os.Args[2:]))
	case len(os.Args) == 4 && os.Args[1] == "impatient":
		supervisor.SetIdleLimit(time.Second)
		os.Exit(supervisor.Main(os.Args[3:]))
	case len(os.Args) == 5 && os.Args[1] == "mortal":
		delay, _ := time.ParseDuration(os.Args[2])
		time.AfterFunc(delay, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
		os.Exit(supervisor.Main(os.Args[4:]))
	case len(os.Args) > 2 && os.Args[1] == "be":
		be(os.Args[2], os.Args[3:])
	default:
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // without this, child processes would ignore SIGHUP if the tests run under nohup
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0")           // if not set, a supervisor built with the race detector takes a second to exit
		goleak.VerifyTestMain(m)
	}
}

func be(role string, args []string) {
	switch role {
	case "stubborn": // ignores all signals
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		say("stubborn", os.Getpid())
		if len(args) > 0 {
			leaveBehind()
		}
		forever()
	case "leaver": // leaves a stubborn child behind
		leaveBehind()
	case "starter": // starts an attempt and waits to be killed
		fmt.Println("ready")
		_, err := supervisor.Start(context.Background(), args[0], stubborn(args[1], args[2]), self())
		fmt.Println("started", err)
		forever()
	case "leaser": // starts an attempt, gives it a lease when its input ends, and waits to be killed
		spec := supervisor.Spec{Attempt: args[1], Log: args[2], Argv: []string{"sh", "-c", args[3]}, Until: time.Now().Add(time.Hour)}
		if len(args) > 4 { // the optional argument is how long until the agent is abandoned
			spec.Abandon, _ = time.ParseDuration(args[4])
		}
		p, err := supervisor.Start(context.Background(), args[0], spec, self())
		fmt.Println("started", err)
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Println("extended", p.Extend(time.Now().Add(time.Second)))
		forever()
	case "host": // imitates the program in a terminal, which hosts the supervisor
		wait, err := supervisor.Host(args[0], self().Command)
		if err != nil {
			fmt.Println(err)
			return
		}
		wait()
	case "looper": // runs attempts in a pool, two at a time, until it is killed
		loop(args[0])
	case "sweeper": // ends all processes of its own attempt except itself
		leaveBehind()
		left, err := supervisor.Sweep(os.Getenv(supervisor.Mark))
		fmt.Println("swept", left, err)
	case "freezer": // starts a program, and freezes it when it has written a line
		child := exec.Command(args[0], args[1:]...)
		out, err := child.StdoutPipe()
		if err = errors.Join(err, child.Start()); err == nil {
			_, err = out.Read(make([]byte, 1))
		}
		time.Sleep(100 * time.Millisecond) // the program goes to sleep in the kernel after its line, which no signal shows
		fmt.Println(supervisor.FreezeDescendants(100), err)
		_ = syscall.Kill(-syscall.Getpgrp(), syscall.SIGKILL)
	case "stopper": // stops another process's attempt
		p, state, err := supervisor.Attach(context.Background(), args[0], supervisor.Options{})
		if err == nil {
			err = p.Stop("from afar", true)
		}
		fmt.Println(state, err)
	}
}

// loop runs attempts in two goroutines until it is killed. The id of each attempt is its folder.
// One of the goroutines reuses folders.
func loop(dir string) {
	pool := supervisor.NewPool(self(), 2)
	fmt.Println("ready")
	for lane := range 2 {
		go func() {
			for n := 0; ; n++ {
				folder := filepath.Join(dir, fmt.Sprintf("%d-%d", lane, n))
				p, err := pool.Start(context.Background(), folder, looped(folder, n))
				if err == nil {
					_, err = p.Wait(context.Background())
				}
				if err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
				if lane == 1 {
					pool.Recycle(folder)
				}
			}
		}()
	}
	forever()
}

// looped returns the spec of the n-th attempt of a loop. For some n the environment is larger than
// the buffer of a connection.
func looped(folder string, n int) supervisor.Spec {
	return supervisor.Spec{
		Attempt: folder, Log: folder + ".log", Argv: []string{"sh", "-c", "echo ran; [ -z \"$LATER\" ] || sleep 0.01"},
		Env: append(os.Environ(), "PADDING="+strings.Repeat("x", n%3*50_000), "LATER="+strings.Repeat("x", n%2)),
	}
}

func forever() { select {} }

func say(what string, pid int) { fmt.Printf("%s %d\n", what, pid) }

// leaveBehind starts a stubborn process in its own session.
func leaveBehind() {
	child := exec.Command(os.Args[0], "be", "stubborn")
	child.Stdout = os.Stdout
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// self returns options that use the test program as the supervisor.
func self() supervisor.Options { return supervisor.Options{Command: []string{os.Args[0]}} }

// stubborn returns the spec of an agent that ignores all signals.
func stubborn(attempt, log string) supervisor.Spec {
	return supervisor.Spec{
		Attempt: attempt, Log: log, Argv: []string{os.Args[0], "be", "stubborn"},
		Interrupt: 50 * time.Millisecond, Terminate: 50 * time.Millisecond,
	}
}

// attempt is an attempt that a test starts. It is ended when the test ends.
type attempt struct {
	t        *testing.T
	id       string
	dir, log string
	pool     *supervisor.Pool // nil means a new supervisor for this attempt
	reuses   int              // pid of the supervisor that the pool must reuse
}

func newAttempt(t *testing.T) *attempt {
	t.Helper()
	base := t.TempDir()
	a := &attempt{
		t: t, dir: filepath.Join(base, "attempts", "one"), log: filepath.Join(base, "log"),
		id: fmt.Sprintf("test-%d-%d-%s", os.Getpid(), time.Now().UnixNano(), t.Name()),
	}
	t.Cleanup(func() {
		if left, err := supervisor.Sweep(a.id); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	return a
}

// eachWay runs a test twice: with a new supervisor, and with a supervisor that has run another
// attempt before.
func eachWay(t *testing.T, test func(t *testing.T, a *attempt)) {
	t.Helper()
	t.Run("fresh", func(t *testing.T) {
		t.Parallel()
		test(t, newAttempt(t))
	})
	t.Run("reused", func(t *testing.T) {
		t.Parallel()
		test(t, newReused(t))
	})
}

// newReused returns an attempt for a supervisor that has run an attempt before. That attempt used
// as many features as possible.
func newReused(t *testing.T) *attempt {
	t.Helper()
	before := newAttempt(t)
	before.pool = newPool(t, self(), 1)
	spec := before.shell("read x; (trap '' TERM; sleep 1000) & echo ready; umask 0; sleep 1000")
	spec.Env = []string{"PATH=" + os.Getenv("PATH"), "A=before", "B=before"}
	spec.Dir, spec.Input, spec.Open = "/", []byte("x\nmore"), true
	spec.Interrupt, spec.Deadline = time.Millisecond, time.Now().Add(time.Hour)
	p := before.start(spec)
	before.awaitLine("ready")
	if err := errors.Join(p.Stop("before", false), p.Stop("before", true)); err != nil {
		t.Fatal(err)
	}
	wait(t, p)
	a := newAttempt(t)
	a.pool, a.reuses = before.pool, p.Started().Supervisor.PID
	return a
}

// pooled returns an attempt that will be started with the pool.
func pooled(t *testing.T, pool *supervisor.Pool) *attempt {
	t.Helper()
	a := newAttempt(t)
	a.pool = pool
	return a
}

// newPool returns a pool that is closed when the test ends.
func newPool(t *testing.T, opts supervisor.Options, keep int) *supervisor.Pool {
	t.Helper()
	pool := supervisor.NewPool(opts, keep)
	t.Cleanup(pool.Close)
	return pool
}

// shell returns a spec that runs a script.
func (a *attempt) shell(script string) supervisor.Spec {
	return supervisor.Spec{Attempt: a.id, Log: a.log, Argv: []string{"sh", "-c", script}}
}

func (a *attempt) start(spec supervisor.Spec) *supervisor.Process {
	a.t.Helper()
	p, err := a.try(a.t.Context(), spec)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { a.end(p) })
	if pid := p.Started().Supervisor.PID; a.reuses != 0 && pid != a.reuses {
		a.t.Errorf("its supervisor is %d, should be %d", pid, a.reuses)
	}
	return p
}

func (a *attempt) try(ctx context.Context, spec supervisor.Spec) (*supervisor.Process, error) {
	if a.pool != nil {
		return a.pool.Start(ctx, a.dir, spec)
	}
	return supervisor.Start(ctx, a.dir, spec, self())
}

// end makes sure that no process of an attempt is left. If its Process was closed, end attaches to
// the attempt again.
func (a *attempt) end(p *supervisor.Process) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := p.Stop("the test is over", true)
	if errors.Is(err, supervisor.ErrClosed) {
		opts := self()
		opts.Attempt = a.id
		if p, _, err = supervisor.Attach(ctx, a.dir, opts); err != nil {
			return // the test has damaged the folder on purpose
		}
		err = p.Stop("the test is over", true)
	}
	if err != nil {
		a.t.Errorf("stop: %v", err)
	}
	if _, err := p.Wait(ctx); err != nil {
		a.t.Errorf("wait: %v", err)
	}
	_ = p.Close() // always returns nil
}

func (a *attempt) attach() (*supervisor.Process, supervisor.State) {
	a.t.Helper()
	p, state, err := supervisor.Attach(a.t.Context(), a.dir, self())
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = p.Close() }) // always returns nil
	return p, state
}

func (a *attempt) text() string {
	a.t.Helper()
	data, err := os.ReadFile(a.log)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(data)
}

// awaitLine waits for a line of output that starts with word, and returns the part after word.
func (a *attempt) awaitLine(word string) (rest string) {
	a.t.Helper()
	testenv.Wait(a.t, fmt.Sprintf("%q in the log", word), func() error {
		data, _ := os.ReadFile(a.log) // ignore the error: the agent may not have started yet
		for line := range strings.Lines(string(data)) {
			if text, ok := strings.CutPrefix(line, word); ok && strings.HasSuffix(text, "\n") {
				rest = strings.TrimSpace(text)
				return nil
			}
		}
		return fmt.Errorf("the log has %q", data)
	})
	return rest
}

// awaitLineTwice waits until a word is in the log twice.
func (a *attempt) awaitLineTwice(word string) {
	a.t.Helper()
	testenv.WaitFor(a.t, word+" twice in the log", a.text, func(text string) bool { return strings.Count(text, word) == 2 })
}

func wait(t *testing.T, p *supervisor.Process) supervisor.Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	e, err := p.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
