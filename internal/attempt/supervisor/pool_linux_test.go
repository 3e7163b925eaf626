package supervisor_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/testkit/testenv"
)

// runs runs a script to its end in the pool. It returns the pid of the script's supervisor, and the
// exit.
func runs(t *testing.T, pool *supervisor.Pool, script string) (pid int, e supervisor.Exit) {
	t.Helper()
	a := pooled(t, pool)
	p := a.start(a.shell(script))
	return p.Started().Supervisor.PID, wait(t, p)
}

// isGone reports whether no process has that pid, not even a zombie.
func isGone(pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return errors.Is(err, os.ErrNotExist)
}

// waitGone waits until at least one of the processes is gone.
func waitGone(t *testing.T, pids ...int) {
	t.Helper()
	testenv.Wait(t, fmt.Sprintf("the end of one of %v", pids), func() error {
		if slices.ContainsFunc(pids, isGone) {
			return nil
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pids[0])) // fails if the process has ended in the meantime
		return fmt.Errorf("the first is\n%s", status)
	})
}

func TestASupervisorRunsOneAttemptAfterTheOther(t *testing.T) {
	pool := newPool(t, self(), 1)
	first, e := runs(t, pool, "exit 1")
	if e.Code != 1 {
		t.Errorf("exit %+v", e)
	}
	for code := range 5 {
		pid, e := runs(t, pool, fmt.Sprintf("exit %d", code))
		if pid != first || e.Code != code || e.StopReason != "" || e.Swept != 0 {
			t.Errorf("supervisor %d after %d, exit %+v", pid, first, e)
		}
	}
}

func TestTheSupervisorAndTheAgentHaveTheirOwnSessions(t *testing.T) {
	a := newReused(t)
	wait(t, a.start(a.shell("ps -o pid=,sid= -p $PPID; ps -o pid=,sid= -p $$")))
	var pid, session, agent, agents int
	if _, err := fmt.Sscan(a.text(), &pid, &session, &agent, &agents); err != nil || pid != a.reuses || session != pid || agents != agent {
		t.Errorf("it said %q, %v", a.text(), err)
	}
}

// ask is a script that prints everything that an agent may inherit from its
// supervisor, except for the limits that mark the descendants of a supervisor.
const ask = `env | sort; pwd; umask; ulimit -a | grep -vE '^(memory|locks)'; ls /proc/$$/fd; grep -E 'Sig(Blk|Ign|Cgt)|NoNewPrivs|CapEff' /proc/self/status; cat`

func TestAnAgentInheritsNothingFromThePreviousAttempt(t *testing.T) {
	fresh, reused := newAttempt(t), newReused(t)
	env := []string{"PATH=" + os.Getenv("PATH"), "RAW=\xff\xfe\x01", "LINES=a\nb", "EMPTY=", "B=2", supervisor.Mark + "=x"}
	dir := t.TempDir()
	var said []string
	for _, a := range []*attempt{fresh, reused} {
		spec := a.shell(ask)
		spec.Env, spec.Dir = env, dir
		if e := wait(t, a.start(spec)); e.Code != 0 {
			t.Errorf("exit %+v", e)
		}
		said = append(said, strings.ReplaceAll(a.text(), a.id, "ID"))
	}
	if said[0] != said[1] || !strings.Contains(said[1], "RAW=\xff\xfe\x01\n") || strings.Contains(said[1], "before") {
		t.Errorf("with its own supervisor it has %q, with another %q", said[0], said[1])
	}
}

func TestAnAgentDoesNotGetTheSupervisorsEnvironment(t *testing.T) {
	pool := newPool(t, self(), 1)
	for range 2 {
		a := pooled(t, pool)
		spec := a.shell("tr '\\0' '\\n' < /proc/$PPID/environ | grep -c secret-of-mine; ls -l /proc/$PPID/cwd | grep -c -- '-> '\"$FOLDER\"'$'")
		spec.Env = []string{"PATH=" + os.Getenv("PATH"), "KEY=secret-of-mine", "FOLDER=" + a.dir}
		wait(t, a.start(spec))
		if a.text() != "0\n1\n" {
			t.Errorf("it found %q", a.text())
		}
	}
}

func TestASupervisorUsesOneProcessorAndTheAgentAsManyAsTheUserSays(t *testing.T) {
	t.Setenv("GOMAXPROCS", "7")
	a := newReused(t)
	wait(t, a.start(a.shell("tr '\\0' '\\n' < /proc/$PPID/environ | grep -m 1 GOMAXPROCS; echo $GOMAXPROCS")))
	if a.text() != "GOMAXPROCS=1\n7\n" {
		t.Errorf("it found %q", a.text())
	}
}

func TestALargeEnvironmentIsHandedOver(t *testing.T) {
	a := newReused(t)
	spec := a.shell("env | wc -c")
	for i := range 15 {
		spec.Env = append(spec.Env, fmt.Sprintf("V%d=%s", i, strings.Repeat("x", 100_000)))
	}
	spec.Env = append(spec.Env, "PATH="+os.Getenv("PATH"))
	wait(t, a.start(spec))
	var size int
	if _, err := fmt.Sscan(a.text(), &size); err != nil || size < 1_500_000 {
		t.Errorf("it said %q", a.text())
	}
}

func TestADeadlineEndsWithItsAttempt(t *testing.T) {
	pool := newPool(t, self(), 1)
	a := pooled(t, pool)
	spec := a.shell("true")
	spec.Deadline = time.Now().Add(300 * time.Millisecond)
	wait(t, a.start(spec))
	if _, e := runs(t, pool, "sleep 0.6"); e.StopReason != "" || e.Code != 0 {
		t.Errorf("exit %+v", e)
	}
}

func TestTheFolderOfThePreviousAttemptIsUnlocked(t *testing.T) {
	pool := newPool(t, self(), 1)
	old := pooled(t, pool)
	p := old.start(old.shell("while [ ! -e " + filepath.Join(old.dir, "socket") + " ]; do sleep 0.01; done; exit 9"))
	wait(t, p)
	old.becomesFree()
	a := pooled(t, pool)
	a.reuses = p.Started().Supervisor.PID
	a.start(a.shell("echo ready; exec sleep 1000"))
	a.awaitLine("ready")
	if !old.isFree() {
		t.Error("the lock is held")
	}
	if _, err := net.Dial("unix", filepath.Join(old.dir, "socket")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("socket: %v", err)
	}
	found, state := old.attach()
	if e := wait(t, found); state != supervisor.Exited || e.Code != 9 {
		t.Errorf("%s, exit %+v", state, e)
	}
	other, state := a.attach()
	if state != supervisor.Alive || other.Started().Supervisor.PID != a.reuses {
		t.Errorf("the other is %s, %+v", state, other.Started())
	}
}

// becomesFree waits until no process holds the attempt's lock.
func (a *attempt) becomesFree() {
	a.t.Helper()
	testenv.Wait(a.t, "a free lock", func() error {
		if !a.isFree() {
			return fmt.Errorf("it is held and says %q", a.lines(""))
		}
		return nil
	})
}

// isFree reports whether no process holds the attempt's lock.
func (a *attempt) isFree() bool {
	a.t.Helper()
	lock, err := os.Open(filepath.Join(a.dir, "lock"))
	if err != nil {
		a.t.Fatal(err)
	}
	defer lock.Close()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

func TestOrdersToAnEndedAttemptReachNoOtherAttempt(t *testing.T) {
	pool := newPool(t, self(), 1)
	old := pooled(t, pool)
	p := old.start(old.shell("true"))
	wait(t, p)
	a := pooled(t, pool)
	spec := a.shell("cat")
	spec.Open = true
	next := a.start(spec)
	var over *supervisor.OverError
	if err := p.Input([]byte("late")); !errors.As(err, &over) {
		t.Errorf("input: %v", err)
	}
	if err := errors.Join(p.Stop("late", true), p.CloseInput(), p.Close()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(next.Input([]byte("mine")), next.CloseInput()); err != nil {
		t.Error(err)
	}
	if e := wait(t, next); e.StopReason != "" || e.Code != 0 || a.text() != "mine" {
		t.Errorf("exit %+v, it read %q", e, a.text())
	}
}

func TestOrdersAtTheVeryEndDoNotLoseTheSupervisor(t *testing.T) {
	pool, dir, seen := newPool(t, self(), 1), t.TempDir(), map[int]bool{}
	for n := range 200 {
		folder := filepath.Join(dir, fmt.Sprint(n))
		p, err := pool.Start(t.Context(), folder, supervisor.Spec{Attempt: folder, Log: folder + ".log", Argv: []string{"/bin/true"}})
		if err != nil {
			t.Fatal(err)
		}
		var over *supervisor.OverError
		for err == nil {
			_, err = p.Status()
		}
		if !errors.As(err, &over) {
			t.Errorf("status: %v", err)
		}
		wait(t, p)
		_ = p.Close() // always returns nil
		seen[p.Started().Supervisor.PID] = true
	}
	if len(seen) != 1 {
		t.Errorf("there were %d supervisors", len(seen))
	}
}

func TestEightConcurrentAttemptsHaveEightSupervisors(t *testing.T) {
	testenv.Integration(t)
	pool := newPool(t, self(), 8)
	seen := map[int]bool{}
	for range 5 {
		var mu sync.Mutex
		var now []int
		var group sync.WaitGroup
		held := make(chan struct{})
		for i := range 8 {
			a := pooled(t, pool)
			group.Go(func() {
				spec := a.shell(fmt.Sprintf("read x; echo %d; exit %d", i, i))
				spec.Open = true
				p := a.start(spec)
				mu.Lock()
				if now = append(now, p.Started().Supervisor.PID); len(now) == 8 {
					close(held)
				}
				mu.Unlock()
				<-held
				if err := p.CloseInput(); err != nil {
					t.Error(err)
				}
				if e := wait(t, p); e.Code != i || a.text() != fmt.Sprintln(i) {
					t.Errorf("%d: exit %+v, it said %q", i, e, a.text())
				}
			})
		}
		group.Wait()
		slices.Sort(now)
		if len(slices.Compact(now)) != 8 {
			t.Errorf("8 attempts have %d supervisors", len(slices.Compact(now)))
		}
		for _, pid := range now {
			seen[pid] = true
		}
	}
	if len(seen) != 8 {
		t.Errorf("there were %d supervisors", len(seen))
	}
}

func TestAPoolKeepsAtMostItsLimit(t *testing.T) {
	pool := newPool(t, self(), 1)
	one, two := pooled(t, pool), pooled(t, pool)
	spec1, spec2 := one.shell("read x"), two.shell("read x")
	spec1.Open, spec2.Open = true, true
	p1, p2 := one.start(spec1), two.start(spec2) // both run at the same time, so they need two supervisors
	for _, p := range []*supervisor.Process{p1, p2} {
		if err := p.CloseInput(); err != nil {
			t.Fatal(err)
		}
		wait(t, p)
	}
	pid1, pid2 := p1.Started().Supervisor.PID, p2.Started().Supervisor.PID
	waitGone(t, pid1, pid2)
	if next, _ := runs(t, pool, "true"); next != pid1 && next != pid2 {
		t.Errorf("supervisor %d after %d and %d", next, pid1, pid2)
	}
}

func TestAttemptsContinueAfterTheirPoolIsClosed(t *testing.T) {
	pool := supervisor.NewPool(self(), 2)
	busy := pooled(t, pool)
	spec := busy.shell("read x; exit 5")
	spec.Open = true
	live := busy.start(spec)
	idle, _ := runs(t, pool, "true")
	pool.Close()
	pool.Close()
	if !isGone(idle) || isGone(live.Started().Supervisor.PID) {
		t.Error("the wrong one has gone")
	}
	if _, state := busy.attach(); state != supervisor.Alive {
		t.Errorf("it is %s", state)
	}
	if err := live.CloseInput(); err != nil {
		t.Error(err)
	}
	if e := wait(t, live); e.Code != 5 {
		t.Errorf("exit %+v", e)
	}
	waitGone(t, live.Started().Supervisor.PID)
	if pid, e := runs(t, pool, "exit 6"); e.Code != 6 {
		t.Errorf("exit %+v", e)
	} else {
		waitGone(t, pid)
	}
}

func TestAClosedProcessContinuesAndItsSupervisorExitsWithIt(t *testing.T) {
	pool := newPool(t, self(), 1)
	a := pooled(t, pool)
	spec := a.shell("read x; exit 7")
	spec.Open = true
	p := a.start(spec)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	found, state := a.attach()
	if state != supervisor.Alive {
		t.Fatalf("it is %s", state)
	}
	if err := found.Input([]byte("x\n")); err != nil {
		t.Fatal(err)
	}
	if e := wait(t, found); e.Code != 7 {
		t.Errorf("exit %+v", e)
	}
	waitGone(t, p.Started().Supervisor.PID)
}

func TestTwoPoolsHaveTheirOwnSupervisors(t *testing.T) {
	one, two := newPool(t, self(), 1), newPool(t, self(), 1)
	pid1, _ := runs(t, one, "true")
	pid2, _ := runs(t, two, "true")
	one.Close()
	if again, _ := runs(t, two, "true"); pid1 == pid2 || again != pid2 || !isGone(pid1) {
		t.Errorf("supervisors %d and %d, then %d", pid1, pid2, again)
	}
}

func TestAThousandAttemptsLeaveNothingInASupervisor(t *testing.T) {
	testenv.Integration(t)
	pool, dir := newPool(t, self(), 1), t.TempDir()
	var pid, files, ours, resident int
	for n := range 1000 {
		folder := filepath.Join(dir, fmt.Sprint(n))
		spec := supervisor.Spec{
			Attempt: folder, Log: folder + ".log", Argv: []string{"/bin/cat"},
			Input: bytes.Repeat([]byte("x"), 50_000), Open: n%2 == 0,
		}
		p, err := pool.Start(t.Context(), folder, spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CloseInput(); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, p); e.Code != 0 || e.LogTo != 50_000 {
			t.Fatalf("exit %+v", e)
		}
		if n == 200 {
			pid = p.Started().Supervisor.PID
			files, ours, resident = openFiles(t, pid), openFiles(t, os.Getpid()), memory(t, pid, "VmRSS:")
		} else if n > 200 && pid != p.Started().Supervisor.PID {
			t.Fatalf("the supervisor of %d is another", n)
		}
	}
	testenv.Wait(t, "no more open files than before", func() error {
		if its, now := openFiles(t, pid), openFiles(t, os.Getpid()); its > files || now > ours {
			return fmt.Errorf("the supervisor has %d, before %d; its starter has %d, before %d", its, files, now, ours)
		}
		return nil
	})
	t.Logf("from %d to %d KB", resident>>10, memory(t, pid, "VmRSS:")>>10)
	if after := memory(t, pid, "VmRSS:"); after > resident+8<<20 {
		t.Errorf("it grew from %d to %d KB", resident>>10, after>>10)
	}
}

func openFiles(t *testing.T, pid int) int {
	t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}
