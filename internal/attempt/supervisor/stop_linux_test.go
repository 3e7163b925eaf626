package supervisor_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/testkit/testenv"
)

// carriers lists the processes that have the attempt's id in their environment. It reads the
// process table itself, so that it does not depend on the code under test.
func (a *attempt) carriers() (pids []int) {
	a.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		a.t.Fatal(err)
	}
	for _, file := range files {
		env, _ := os.ReadFile(file)
		if strings.Contains("\x00"+string(env), "\x00"+supervisor.Mark+"="+a.id+"\x00") {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// allGone fails the test if a process of the attempt is alive. Tests call it immediately after the
// end was reported.
func (a *attempt) allGone() {
	a.t.Helper()
	if left := a.carriers(); len(left) > 0 {
		a.t.Errorf("processes %v are left", left)
	}
}

func TestTheAgentHasNoFilesOfItsStarterAndSupervisor(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		inherited, err := unix.FcntlInt(0, unix.F_DUPFD, 200)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Close(inherited) }()
		wait(t, a.start(a.shell("ls /proc/$$/fd; ls /proc/$PPID/fd | grep -x "+strconv.Itoa(inherited)+" | wc -l")))
		if got := a.text(); got != "0\n1\n2\n0\n" {
			t.Errorf("it has the files %q", got)
		}
	})
}

func TestAnAgentThatExitsAfterAnInterruptGetsNoOtherSignal(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(a.shell("trap 'echo interrupted; exit 4' INT; trap 'echo terminated' TERM; echo ready; while :; do sleep 0.01; done"))
		a.awaitLine("ready")
		if err := p.Stop("cancelled", false); err != nil {
			t.Fatal(err)
		}
		e := wait(t, p)
		a.allGone()
		if e.StopReason != "cancelled" || e.Code != 4 || strings.Contains(a.text(), "terminated") {
			t.Errorf("exit %+v, it said %q", e, a.text())
		}
	})
}

func TestAnAgentThatIgnoresInterruptsIsTerminated(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("trap '' INT; trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done")
		spec.Interrupt = 50 * time.Millisecond
		p := a.start(spec)
		a.awaitLine("ready")
		if err := p.Stop("cancelled", false); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, p); e.StopReason != "cancelled" || e.Code != 5 {
			t.Errorf("exit %+v", e)
		}
	})
}

func TestAStubbornAgentIsKilledWithItsGrandchildInAnotherSession(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := stubborn(a.id, a.log)
		spec.Argv = append(spec.Argv, "grandchild")
		p := a.start(spec)
		a.awaitLineTwice("stubborn")
		if got := len(a.carriers()); got != 2 {
			t.Fatalf("%d processes run", got)
		}
		if err := p.Stop("cancelled", false); err != nil {
			t.Fatal(err)
		}
		e := wait(t, p)
		a.allGone()
		if e.StopReason != "cancelled" || e.Signal != "SIGKILL" || e.Swept != 1 || len(e.Left) > 0 {
			t.Errorf("exit %+v", e)
		}
	})
}

func TestASecondStopCanKillAtOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := stubborn(a.id, a.log)
		spec.Interrupt, spec.Terminate = time.Hour, time.Hour
		p := a.start(spec)
		a.awaitLine("stubborn")
		if err := p.Stop("slowly", false); err != nil {
			t.Fatal(err)
		}
		testenv.Wait(t, "the interrupt", func() error {
			s, err := p.Status()
			if err == nil && (s.Doing != "interrupting" || s.StopReason != "slowly") {
				err = fmt.Errorf("status %+v", s)
			}
			return err
		})
		if err := p.Stop("quickly", true); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, p); e.StopReason != "slowly" || e.Signal != "SIGKILL" {
			t.Errorf("exit %+v", e)
		}
	})
}

func TestASignalToTheSupervisorStopsTheAgentProperly(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(a.shell("trap 'exit 6' INT; echo ready; while :; do sleep 0.01; done"))
		a.awaitLine("ready")
		pid := strconv.Itoa(p.Started().Supervisor.PID)
		run(t, "kill", "-HUP", pid)
		run(t, "kill", "-TERM", pid)
		if e := wait(t, p); e.StopReason != "SIGTERM" || e.Code != 6 {
			t.Errorf("exit %+v", e)
		}
	})
}

func TestProcessesThatAnAgentLeavesBehindAreEnded(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("true")
		spec.Argv = []string{os.Args[0], "be", "leaver"}
		e := wait(t, a.start(spec))
		a.allGone()
		if e.Code != 0 || e.Signal != "" || e.StopReason != "" || e.Swept != 1 {
			t.Errorf("exit %+v", e)
		}
	})
}

func TestAStopAfterTheExitIsNotTheStopReason(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("(trap '' TERM; echo ready; while :; do sleep 0.01; done) & read x; exit 0")
		spec.Open = true
		p := a.start(spec)
		a.awaitLine("ready")
		if err := p.CloseInput(); err != nil {
			t.Fatal(err)
		}
		testenv.Wait(t, "the sweep", func() error {
			s, err := p.Status()
			over := (*supervisor.OverError)(nil)
			if errors.As(err, &over) { // happens if the test machine was suspended or very slow
				return nil
			}
			if err == nil && s.Doing != "sweeping" {
				err = fmt.Errorf("status %+v", s)
			}
			return err
		})
		if err := p.Stop("late", true); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, p); e.StopReason != "" || e.Code != 0 || e.Swept == 0 {
			t.Errorf("exit %+v", e)
		}
		a.allGone()
	})
}

// bomb starts 200 shells in the background. Each starts another process when its current one ends.
const bomb = `
n=0
while [ $n -lt 200 ]; do
	(trap '' INT TERM; while :; do sleep 0.05; done) &
	n=$((n+1))
done
echo ready`

func TestAForkBombIsEnded(t *testing.T) {
	for name, end := range map[string]string{"that exits": "", "that stays": "; trap '' INT TERM; while :; do sleep 1; done"} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, a *attempt) {
				p := a.start(a.shell(bomb + end))
				a.awaitLine("ready")
				if err := p.Stop("bomb", true); err != nil {
					t.Fatal(err)
				}
				e := wait(t, p)
				a.allGone()
				if e.Swept < 200 || len(e.Left) > 0 {
					t.Errorf("exit %+v", e)
				}
			})
		})
	}
}

func TestAProcessThatSweepsItsOwnAttemptSurvives(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("")
		spec.Argv = []string{os.Args[0], "be", "sweeper"}
		if e := wait(t, a.start(spec)); e.Code != 0 || e.Swept != 0 || !strings.Contains(a.text(), "swept [] <nil>") {
			t.Errorf("exit %+v, it said %q", e, a.text())
		}
	})
}

func TestTheDeadlineIsKeptWithoutClients(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("trap '' INT TERM; while :; do sleep 0.01; done")
		spec.Deadline = time.Now().Add(300 * time.Millisecond)
		if err := a.start(spec).Close(); err != nil {
			t.Fatal(err)
		}
		testenv.WaitFor(t, "the exit in the lock", func() []string { return a.lines("") }, func(lines []string) bool {
			return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "exit ") })
		})
		p, state := a.attach()
		e := wait(t, p)
		a.allGone()
		if e.StopReason != supervisor.Timeout || e.Signal == "" || state == supervisor.Lost { // which signal killed the agent depends on how far stopping had progressed
			t.Errorf("%s, exit %+v", state, e)
		}
		if e.Ended.Before(spec.Deadline) {
			t.Errorf("it ended at %s, before its deadline %s", e.Ended, spec.Deadline)
		}
	})
}

func TestADeadlineIsPostponedWhileTheAgentWaitsForTheUser(t *testing.T) {
	testenv.Integration(t)
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("trap '' INT TERM; while :; do sleep 0.01; done")
		spec.Deadline = time.Now().Add(2 * time.Second)
		spec.Interrupt, spec.Terminate = 10*time.Millisecond, 10*time.Millisecond
		p := a.start(spec)
		for range 2 { // call it twice: repeated calls are harmless
			if err := p.Waiting(true); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Close(); err != nil { // the supervisor keeps counting the wait even without clients
			t.Fatal(err)
		}
		testenv.WaitFor(t, "the deadline has passed", time.Now, func(now time.Time) bool { return now.After(spec.Deadline.Add(500 * time.Millisecond)) })
		p, _ = a.attach()
		if s, err := p.Status(); err != nil || s.Doing != "running" {
			t.Fatalf("it does %+v, %v", s, err)
		}
		if err := p.Waiting(false); err != nil {
			t.Fatal(err)
		}
		e := wait(t, p)
		if e.StopReason != supervisor.Timeout || e.Waited < 500*time.Millisecond || e.Ended.Before(spec.Deadline.Add(e.Waited)) {
			t.Errorf("deadline %s, exit %+v", spec.Deadline, e)
		}
		if r := a.recorded(); r.Waited != e.Waited {
			t.Errorf("told %s, recorded %s", e.Waited, r.Waited)
		}
	})
}

func TestHugeOutputDoesNotGoThroughTheSupervisor(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		const size = 200 << 20
		spec := a.shell(fmt.Sprintf("read go; head -c %d /dev/zero; read end", size))
		spec.Open = true
		p := a.start(spec)
		before := memory(t, p.Started().Supervisor.PID, "VmHWM:")
		if err := p.Input([]byte("go\n")); err != nil {
			t.Fatal(err)
		}
		testenv.WaitFor(t, "all of the output", func() int64 {
			info, err := os.Stat(a.log)
			if err != nil {
				t.Fatal(err)
			}
			return info.Size()
		}, func(n int64) bool { return n == size })
		if after := memory(t, p.Started().Supervisor.PID, "VmHWM:"); after > before+16<<20 {
			t.Errorf("the supervisor grew from %d to %d MB", before>>20, after>>20)
		}
		if err := p.CloseInput(); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, p); e.LogTo != size {
			t.Errorf("exit %+v", e)
		}
	})
}

// memory returns a value from /proc/PID/status: VmRSS is the memory that a process uses now, VmHWM
// its maximum.
func memory(t *testing.T, pid int, what string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(status), what)
	var kb int
	if _, err := fmt.Sscanf(text, "%d kB", &kb); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return kb << 10
}
