package teammerge_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/git"
	"gaffer/internal/testkit/testenv"
)

// killNoted kills the process whose id the command of note has written to a file.
func (p project) killNoted(file string) {
	p.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(p.Read(filepath.Dir(file), filepath.Base(file))))
	p.Must(err)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		p.Error(err)
	}
}

// note returns a shell command that writes the id of its process to a file, atomically, and then
// executes command.
func note(file, command string) string {
	return "echo $$ >" + file + ".new; mv " + file + ".new " + file + "; exec " + command
}

func TestAMergeKilledDuringItsTestsStartsAgain(t *testing.T) {
	p := newProject(t)
	a := p.worked("A", "a.txt", "a\n")
	p.Write(a.Path, "new.txt", "x\n")
	pid := filepath.Join(p.Top, "pid")
	cmd := p.child(p.order(a, note(pid, "sleep 600")))
	p.Must(cmd.Start())
	p.until("the test", func() bool { _, err := os.Stat(pid); return err == nil })
	// Create the worktree of another group, which works at the same time.
	if _, err := p.repo.Create(t.Context(), worktree.Spec{Run: run, Task: "B", Base: git.Base{Commit: p.start}, Root: filepath.Join(p.Top, "trees")}); err != nil {
		t.Fatal(err)
	}
	p.Must(cmd.Process.Kill())
	_ = cmd.Wait() // an error is expected: the process was killed
	p.killNoted(pid)
	if p.at(session) != p.start {
		t.Fatal("merged before it was tested")
	}
	m, _ := p.merge(p.order(a, "cat new.txt"))
	if m.Outcome != teamstate.MergeDone || p.Git(p.Dir, "rev-list", "--merges", "--count", session) != "1" {
		t.Errorf("%+v", m)
	}
	p.noLeftovers(2)
}

func TestAStoppedMergeEndsItsTestsAndLeavesNothing(t *testing.T) {
	p := newProject(t)
	a := p.worked("A", "a.txt", "a\n")
	pid := filepath.Join(p.Top, "pid")
	cmd := p.child(p.order(a, note(pid, "sleep 600")))
	var out bytes.Buffer
	cmd.Stdout = &out
	p.Must(cmd.Start())
	p.until("the test", func() bool { _, err := os.Stat(pid); return err == nil })
	p.Must(cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 || strings.Contains(out.String(), "outcome") {
		t.Errorf("%v\n%s", err, out.String())
	}
	test, err := strconv.Atoi(strings.TrimSpace(p.Read(p.Top, "pid")))
	p.Must(err)
	if err := syscall.Kill(test, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the test goes on: %v", err)
		p.killNoted(pid)
	}
	p.noLeftovers(1)
}

// killer is a git command that kills its caller. It does so before or after the nth git call that
// changes something.
const killer = `#!/bin/sh
case " $* " in
*" update-ref "* | *" worktree add "* | *" worktree remove "* | *" commit-tree "* | *" add --all "* | *" commit "* | *" merge --ff-only "*)
	echo x >>"$COUNTER"
	if [ $(wc -l <"$COUNTER") -eq "$KILL_AT" ]; then
		[ "$MOMENT" = after ] && "$REAL_GIT" "$@"
		kill -9 $PPID
		exit 1
	fi
	;;
esac
exec "$REAL_GIT" "$@"
`

func TestARepeatedMergeAfterAKillHasTheSameResult(t *testing.T) {
	testenv.Integration(t)
	for _, moment := range []string{"before", "after"} {
		n := 1
		for killedAt(t, moment, n) {
			n++
		}
		if n < 6 {
			t.Errorf("%s: only %d crashes", moment, n-1)
		}
	}
}

// killedAt runs a merge that crashes at the nth change, and then runs it again without a crash. It
// reports whether the crash occurred.
func killedAt(t *testing.T, moment string, n int) (killed bool) {
	p := newProject(t)
	program, err := exec.LookPath("git")
	p.Must(err)
	bin := filepath.Join(p.Top, "bin")
	p.Must(os.Mkdir(bin, 0o755))
	p.Must(os.WriteFile(filepath.Join(bin, "git"), []byte(killer), 0o755))
	a := p.worked("A", "a.txt", "a\n")
	p.Write(a.Path, "new.txt", "x\n")
	o := p.order(a, "cat a.txt new.txt")
	o.Into, o.Deliver = "main", true // main is checked out, so the merge has more steps to interrupt
	cmd := p.child(o, "REAL_GIT="+program, "COUNTER="+filepath.Join(p.Top, "count"), "KILL_AT="+strconv.Itoa(n), "MOMENT="+moment,
		"PATH="+bin+":"+os.Getenv("PATH"))
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("%s call %d: %v", moment, n, err)
	}
	m, said := p.merge(o)
	if m.Outcome != teamstate.MergeDone || m.Commit != p.at("main") || p.Git(p.Dir, "rev-list", "--merges", "--count", "main") != "1" {
		t.Fatalf("%s call %d: %+v\n%s", moment, n, m, said)
	}
	if p.Read(p.Dir, "a.txt")+p.Read(p.Dir, "new.txt") != "a\nx\n" || p.Git(p.Dir, "status", "--porcelain") != "" {
		t.Fatalf("%s call %d: %s", moment, n, p.Git(p.Dir, "status"))
	}
	if p.noLeftovers(1); t.Failed() {
		t.Fatalf("%s call %d", moment, n)
	}
	return !cmd.ProcessState.Success()
}
