package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
)

// hostile is a plan whose task leaves a process behind in its first attempt. Nothing shows that the
// process belongs to the attempt: it has an empty environment, its own session, the working folder
// / and none of its parent's files. It stops the supervisor, kills the agent and then the
// supervisor, so that none of its ancestors is alive. If a file named both exists, it kills gaffer
// first. A later attempt records whether the process is alive.
const hostile = `tasks:
  - id: evil
    retries: 3
    shell: |
      echo $GAFFER_ATTEMPT >> starts
      if [ -s pid ]; then
        if grep -q '^State:.[RSDT]' /proc/$(cat pid)/status 2>/dev/null; then echo alive > two; fi
        exit 0
      fi
      echo $PPID > supervisor
      gaffer=
      if [ -e both ]; then gaffer=$(sed 's/.*) //' /proc/$PPID/stat | cut -d' ' -f2); fi
      env -i setsid sh hide.sh $PWD $$ $PPID $gaffer &
      sleep 3600
`

const hide = `cd /
exec 0<&- 1>&- 2>&-
kill -STOP $3
kill -9 $2
while grep -q '^State:.[RSDT]' /proc/$2/status; do :; done
echo $$ > $1/pid.new
mv $1/pid.new $1/pid
if [ -n "$4" ]; then kill -9 $4; fi
kill -9 $3
exec sleep 3600
`

// hostileProject is a project with the hostile plan. gaffer runs in its own control group, so that
// no other process on this machine seems to have been started by it.
type hostileProject struct {
	t     *testing.T
	dir   string
	env   []string
	enter string // shell commands that run before gaffer
	cage  string
}

func newPrey(t *testing.T, groups string, both bool) *hostileProject {
	testenv.Integration(t)
	p := &hostileProject{t: t, dir: t.TempDir()}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`(?m)^\S+ \S+ \S+ / (\S+) .* - cgroup2 `).FindStringSubmatch(string(mounts))
	if at == nil {
		t.Fatal("this test needs control groups of version 2 that are mounted as a whole")
	}
	if p.cage, err = os.MkdirTemp(at[1], "test-"); err != nil {
		t.Fatal(err)
	}
	p.enter = "echo $$ > " + p.cage + "/cgroup.procs; " + testenv.KeepLimits
	t.Cleanup(p.clean)
	p.env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(p.dir, "state"), "HOME="+p.dir, "GAFFER_CGROUPS="+groups)
	p.write("plan.yaml", hostile)
	p.write("hide.sh", hide)
	if both {
		p.write("both", "")
	}
	return p
}

func (p *hostileProject) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// clean ends all processes that the test has started.
func (p *hostileProject) clean() {
	testenv.Wait(p.t, "the end of everything in "+p.cage, func() error {
		_ = os.WriteFile(filepath.Join(p.cage, "cgroup.kill"), []byte("1"), 0)
		for _, pid := range p.groupFiles("/sys/fs/cgroup/pids") { // control groups of cgroup version 1
			_ = os.Remove(pid)
		}
		inner, _ := filepath.Glob(p.cage + "/gaffer-*")
		for _, dir := range inner {
			_ = os.Remove(dir)
		}
		return os.Remove(p.cage)
	})
}

// groupFiles returns the control groups of this test's attempts in the folder parent.
func (p *hostileProject) groupFiles(parent string) (list []string) {
	for _, id := range p.lines("starts") {
		found, _ := filepath.Glob(filepath.Join(parent, "gaffer-*-"+id+"-*"))
		list = append(list, found...)
	}
	return list
}

// gaffer returns a command that runs gaffer in the test's control group.
func (p *hostileProject) gaffer(args ...string) *exec.Cmd {
	cmd := exec.Command("sh", append([]string{"-c", p.enter + `exec "$@"`, "sh", testenv.Program(p.t)}, args...)...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// says runs gaffer and returns its output and exit code.
func (p *hostileProject) says(args ...string) (string, int) {
	p.t.Helper()
	cmd := p.gaffer(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // ignore the error: the exit code is returned
	return out.String(), cmd.ProcessState.ExitCode()
}

// wait waits until a started gaffer ends, and fails the test if it fails. After a minute it kills
// gaffer, because a task that waits for its user does not end.
func (p *hostileProject) wait(run *exec.Cmd) {
	p.t.Helper()
	hangs := time.AfterFunc(time.Minute, func() { _ = run.Process.Kill() })
	defer hangs.Stop()
	if err := run.Wait(); err != nil {
		p.t.Errorf("gaffer %s: %v", strings.Join(run.Args[4:], " "), err)
	}
}

func (p *hostileProject) lines(name string) []string {
	data, _ := os.ReadFile(filepath.Join(p.dir, name))
	return strings.Fields(string(data))
}

// hidden waits for the process that the task leaves behind, and returns its id.
func (p *hostileProject) hidden() int {
	p.t.Helper()
	testenv.Wait(p.t, "a process that is left behind", func() error {
		if len(p.lines("pid")) == 1 {
			return nil
		}
		return fmt.Errorf("starts: %q", p.lines("starts"))
	})
	pid, err := strconv.Atoi(p.lines("pid")[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return pid
}

// lives reports whether a thread of the process is alive. The threads of a killed process end one
// after the other, and the main thread may end before others.
func lives(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && regexp.MustCompile(`State:\s+[RSDT]|Threads:\s+([2-9]|\d\d)`).Match(status)
}

// completes checks that the second attempt completed the task, and that no process of the first
// attempt was alive then.
func (p *hostileProject) completes() {
	p.t.Helper()
	testenv.Wait(p.t, "the end of the run", func() error {
		out, _ := p.says("status", "--json")
		if strings.Contains(out, `"status": "complete"`) && !strings.Contains(out, `"alive": true`) {
			return nil
		}
		return fmt.Errorf("%s\nstarts: %q", out, p.lines("starts"))
	})
	if got := p.lines("starts"); len(got) != 2 {
		p.t.Errorf("attempts: %q", got)
	}
}

// attack runs the hostile task. It returns when the hostile process has killed the supervisor and,
// if killsGaffer is true, gaffer.
func (p *hostileProject) attack(killsGaffer bool) (run *exec.Cmd, hidden int) {
	p.t.Helper()
	run = p.gaffer("run", "plan.yaml")
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	if err := run.Start(); err != nil {
		p.t.Fatal(err)
	}
	hidden = p.hidden()
	if killsGaffer {
		_ = run.Wait()
		if run.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			p.t.Fatalf("gaffer was not killed: %s", out.String())
		}
	}
	testenv.Wait(p.t, "the end of the supervisor", func() error {
		if pid, err := strconv.Atoi(strings.Join(p.lines("supervisor"), "")); err != nil || lives(pid) {
			return fmt.Errorf("supervisor %d is alive, %w", pid, err)
		}
		return nil
	})
	return run, hidden
}

func TestSecurityAProcessThatHidesFromItsAttemptEndsBeforeTheNextBegins(t *testing.T) {
	knownBy := map[string]string{"v2": "control groups v2", "v1": "control groups v1", "off": "process marks only"}
	for groups, method := range knownBy {
		for _, both := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, gaffer killed too: %t", groups, both), func(t *testing.T) {
				t.Parallel()
				p := newPrey(t, groups, both)
				run, hidden := p.attack(both)
				if both {
					if !lives(hidden) {
						t.Fatal("the attack did not come to anything")
					}
					out, code := p.says("doctor")
					if want := fmt.Sprintf("orphaned: pid %d of attempt %s (task evil of run ", hidden, p.lines("starts")[0]); !strings.Contains(out, want) || code != 1 {
						t.Errorf("doctor: exit %d, without %q:\n%s", code, want, out)
					}
					if want := "known by: " + method; !strings.Contains(out, want) {
						t.Errorf("doctor without %q:\n%s", want, out)
					}
					if out, code := p.says("resume"); code != 0 {
						t.Errorf("resume: exit %d\n%s", code, out)
					}
				} else {
					p.wait(run)
				}
				p.completes()
				if _, err := os.Stat(filepath.Join(p.dir, "two")); err == nil || lives(hidden) {
					t.Errorf("process %d of the first attempt is alive beside the second", hidden)
				}
				if left := append(p.groupFiles(p.cage), p.groupFiles("/sys/fs/cgroup/pids")...); len(left) > 0 {
					t.Errorf("control groups are left: %q", left)
				}
			})
		}
	}
}

func TestSecurityDoctorEndsAProcessThatHidesFromItsAttempt(t *testing.T) {
	for _, database := range []bool{true, false} { // a machine with nothing but workers has no database
		t.Run(fmt.Sprintf("with a database: %t", database), func(t *testing.T) {
			p := newPrey(t, "v2", true)
			_, hidden := p.attack(true)
			if !database {
				files, err := filepath.Glob(filepath.Join(p.dir, "state", "gaffer", "*.db*"))
				if err != nil || len(files) == 0 {
					t.Fatalf("no files of a database: %v", err)
				}
				for _, file := range files {
					if err := os.Remove(file); err != nil {
						t.Fatal(err)
					}
				}
			}
			if out, _ := p.says("doctor"); !strings.Contains(out, fmt.Sprintf("orphaned: pid %d ", hidden)) || !lives(hidden) {
				t.Errorf("doctor does not name process %d:\n%s", hidden, out)
			}
			out, code := p.says("doctor", "--repair")
			if strings.Contains(out, "orphaned: ") || !strings.Contains(out, "nothing is orphaned") || lives(hidden) {
				t.Errorf("doctor --repair: exit %d, process %d is alive: %t\n%s", code, hidden, lives(hidden), out)
			}
		})
	}
}

func TestSecurityWithoutControlGroupsATaskWaitsForAProcessThatMayBeItsOwn(t *testing.T) {
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprintf("gaffer killed too: %t", both), func(t *testing.T) {
			t.Parallel()
			p := newPrey(t, "off", both)
			p.enter += "ulimit -m 1000000; " // leave gaffer no room to mark its processes by their limits
			run, hidden := p.attack(both)
			if both {
				run = p.gaffer("resume")
				if err := run.Start(); err != nil {
					t.Fatal(err)
				}
			}
			why := fmt.Sprintf("pid %d (sleep 3600) started after it and may be of it", hidden)
			for _, command := range [][]string{{"status"}, {"status", "--json"}, {"ps", "--json"}, {"doctor"}} {
				testenv.Wait(t, strings.Join(command, " ")+" that says why the task waits", func() error {
					out, _ := p.says(command...)
					if !strings.Contains(out, why) {
						return fmt.Errorf("without %q:\n%s", why, out)
					}
					return nil
				})
			}
			out, code := p.says("doctor")
			attempt := p.lines("starts")[0]
			for _, want := range []string{"waits: attempt " + attempt + " (task evil of run ", "since 2", "gaffer doctor --gone " + attempt, "process marks only"} {
				if !strings.Contains(out, want) || code != 1 {
					t.Errorf("doctor: exit %d, without %q:\n%s", code, want, out)
				}
			}
			if out, _ := p.says("doctor", "--repair"); !lives(hidden) {
				t.Errorf("doctor --repair has ended a process that may be another's:\n%s", out)
			}
			if got := p.lines("starts"); len(got) != 1 {
				t.Fatalf("another attempt began: %q", got)
			}
			if both { // here the user says that the process is not the attempt's
				if out, code := p.says("doctor", "--gone", "other"); code != 4 {
					t.Errorf("doctor --gone other: exit %d\n%s", code, out)
				}
				if out, code := p.says("doctor", "--gone", attempt); code != 0 {
					t.Errorf("doctor --gone: exit %d\n%s", code, out)
				}
			} else if err := syscall.Kill(hidden, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			p.wait(run)
			p.completes()
		})
	}
}

// A process that leaves its group and lowers its limits cannot be told apart from the processes of
// earlier attempts. It cannot raise its limits again.
func TestSecurityATaskWaitsForAProcessThatLeavesItsGroupAndLowersItsLimits(t *testing.T) {
	p := newPrey(t, "", false)
	p.write("hide.sh", "for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do echo $$ > $f; done\nulimit -m 0\n"+hide)
	run, hidden := p.attack(false)
	t.Cleanup(func() { _ = syscall.Kill(hidden, syscall.SIGKILL) })
	testenv.Wait(t, "the task to wait", func() error {
		out, _ := p.says("status")
		if !strings.Contains(out, fmt.Sprintf("pid %d (sleep 3600)", hidden)) || !strings.Contains(out, "may be of it") {
			return fmt.Errorf("status does not name process %d:\n%s", hidden, out)
		}
		return nil
	})
	if got := p.lines("starts"); len(got) != 1 {
		t.Fatalf("another attempt began: %q", got)
	}
	if err := syscall.Kill(hidden, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.wait(run)
	p.completes()
}

func TestSecurityWithoutControlGroupsAnOrdinaryKillIsRecoveredAtOnce(t *testing.T) {
	p := newPrey(t, "off", false)
	p.write("plan.yaml", `tasks:
  - {id: a, retries: 3, shell: "echo $GAFFER_ATTEMPT >> starts; if [ -s pid ]; then exit 0; fi; echo $PPID > pid; sleep 3600 & setsid sleep 3600 & sleep 3600"}
`)
	run := p.gaffer("run", "plan.yaml")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	supervisor := p.hidden()
	// Start another program of the user that belongs to no attempt.
	other := exec.Command("sh", "-c", "env -i setsid sleep 3600 >/dev/null 2>&1 & echo $!")
	text, err := other.Output()
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(daemon, syscall.SIGKILL) })
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait()
	if err := syscall.Kill(supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if out, code := p.says("resume"); code != 0 {
		t.Errorf("resume: exit %d\n%s", code, out)
	}
	p.completes()
	if !lives(daemon) {
		t.Error("a process that is not gaffer's was ended")
	}
}

func TestSecurityWithoutWritableControlGroupsAttemptsRunAsEver(t *testing.T) {
	p := newPrey(t, "", false)
	p.write("plan.yaml", "tasks:\n  - {id: a, shell: 'cat /proc/self/cgroup > groups'}\n")
	p.enter += `unshare -m sh -c 'for at in $(sed -n "s/^[^ ]* [^ ]* [^ ]* [^ ]* \([^ ]*\) .* - cgroup2* .*/\1/p" /proc/self/mountinfo); do mount -o remount,bind,ro $at || exit 9; done; exec "$@"' sh `
	p.enter = strings.Replace(p.enter, "unshare", "exec unshare", 1)
	gaffer := func(args ...string) (string, int) {
		cmd := exec.Command("sh", append([]string{"-c", p.enter + `"$@"`, "sh", testenv.Program(t)}, args...)...)
		cmd.Dir, cmd.Env = p.dir, p.env
		out, _ := cmd.CombinedOutput() // the exit code is checked instead of the error
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := gaffer("run", "plan.yaml"); code != 0 || strings.Contains(out, "cgroup") {
		t.Errorf("run: exit %d\n%s", code, out)
	}
	if groups, err := os.ReadFile(filepath.Join(p.dir, "groups")); err != nil || strings.Contains(string(groups), "gaffer-") {
		t.Errorf("%v: the task ran in\n%s", err, groups)
	}
	if out, _ := gaffer("doctor"); !strings.Contains(out, "known by: process marks only") {
		t.Errorf("doctor:\n%s", out)
	}
}
