package teammerge_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/flow/teammerge"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/testkit/testenv"
)

func TestAGroupIsMergedWhenItsTestsPass(t *testing.T) {
	p := newProject(t)
	a := p.worked("A", "a.txt", "a\n")
	t.Setenv("PASSED_ON", "as it is")
	o := p.order(a, "cat a.txt shared.txt", `printf "$PASSED_ON"`)
	o.Message = "Group: A"
	m, said := p.merge(o)
	if m.Outcome != teamstate.MergeDone || m.Commit != p.at(session) || p.Git(p.Dir, "show", session+":a.txt") != "a" {
		t.Errorf("%+v", m)
	}
	for _, line := range []string{"$ cat a.txt shared.txt\na\none\n", "as it is\nmerged gaffer/s1/A into " + session} {
		if !strings.Contains(said, line) {
			t.Errorf("%q is not in:\n%s", line, said)
		}
	}
	if got := p.Git(p.Dir, "log", "-1", "--format=%B", session); got != "Merge group A\n\nMerge branch 'gaffer/s1/A' into "+session+"\n\nGroup: A" {
		t.Errorf("message: %s", got)
	}
	if p.at("main") != p.start {
		t.Error("the user's branch was moved")
	}
	p.noLeftovers(1)
}

func TestAMergedBranchIsNotTestedAgain(t *testing.T) {
	p := newProject(t)
	a := p.worked("A", "a.txt", "a\n")
	first, _ := p.merge(p.order(a, "true"))
	if again, said := p.merge(p.order(a, "false")); again.Outcome != teamstate.MergeDone || again.Commit != first.Commit {
		t.Errorf("%+v\n%s", again, said)
	}
	p.Write(a.Path, "more.txt", "x\n")
	p.Commit(a.Path, "more")
	if more, _ := p.merge(p.order(a, "false")); more.Outcome != teamstate.MergeFailed || p.at(session) != first.Commit {
		t.Errorf("what the branch does not have is tested: %+v", more)
	}
}

func TestTestsThatFailLeaveTheBranchWhereItWas(t *testing.T) {
	p := newProject(t)
	a := p.worked("A", "a.txt", "a\n")
	m, said := p.merge(p.order(a, "echo fine", "echo so far; printf '\\033[31mbroken\\377\\033[0m' >&2; exit 3", "echo never"))
	if m.Outcome != teamstate.MergeFailed || !strings.HasSuffix(m.Test, "exit 3") || m.Output != "so far\nbroken�\n(exit status 3)" {
		t.Errorf("%+v", m)
	}
	if m.Commit != "" || p.at(session) != p.start || strings.Contains(said, "never\n") {
		t.Errorf("%+v\n%s", m, said)
	}
	p.noLeftovers(1)
}

func TestTheEndOfALongOutputIsKept(t *testing.T) {
	p := newProject(t)
	a := p.worked("A", "a.txt", "a\n")
	m, _ := p.merge(p.order(a, "seq 100000; exit 1"))
	if len(m.Output) > 17<<10 || len(m.Output) < 15<<10 || !strings.HasPrefix(m.Output, "…\n9") || !strings.HasSuffix(m.Output, "\n99999\n100000\n(exit status 1)") {
		t.Errorf("%d bytes: %.20q … %q", len(m.Output), m.Output, m.Output[max(0, len(m.Output)-40):])
	}
}

func TestATestThatCannotBeRunHasFailed(t *testing.T) {
	p := newProject(t)
	a := p.worked("A", "a.txt", "a\n")
	if m, _ := p.merge(p.order(a, "no-such-program-anywhere")); m.Outcome != teamstate.MergeFailed || !strings.Contains(m.Output, "not found") {
		t.Errorf("%+v", m)
	}
	if m, _ := p.merge(p.order(a, "kill -9 $$")); m.Outcome != teamstate.MergeFailed || m.Output != "(signal: killed)" {
		t.Errorf("%+v", m)
	}
}

func TestBackgroundProcessesOfATestAreNotAwaited(t *testing.T) {
	testenv.Integration(t)
	p := newProject(t)
	a := p.worked("A", "a.txt", "a\n")
	pid := filepath.Join(p.Top, "pid")
	m, _ := p.merge(p.order(a, "sleep 600 & echo $! >"+pid))
	p.killNoted(pid)
	if m.Outcome != teamstate.MergeDone {
		t.Errorf("%+v", m)
	}
}

// The last line must be short, because gaffer keeps only the last 48 KiB of a program's output.
func TestTheLastLineHasALimitedLength(t *testing.T) {
	p := newProject(t)
	a, b := p.group("A"), p.group("B")
	for i := range 300 {
		name := fmt.Sprintf("%s/\"<%04d>\x01\n.ts", strings.Repeat("long", 40), i)
		for dir, text := range map[string]string{a.Path: "a\n", b.Path: "b\n"} {
			p.Must(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			p.Write(dir, name, text)
		}
	}
	p.Commit(a.Path, "a")
	p.Commit(b.Path, "b")
	noisy := strings.Repeat(": '<\"&'; ", 10000) + "head -c 20000 /dev/zero | tr '\\0' '<'; exit 1"
	for _, c := range []struct {
		order teammerge.Spec
		want  teamstate.MergeOutcome
	}{{p.order(a, noisy), teamstate.MergeFailed}, {p.order(b), teamstate.MergeDone}, {p.order(a), teamstate.MergeConflict}} {
		var out bytes.Buffer
		p.Must(teammerge.Run(t.Context(), p.Dir, p.input(c.order), &out))
		m, said := p.parse(out.String())
		if n := out.Len() - len(said); m.Outcome != c.want || n > 40<<10 {
			t.Errorf("%s has %d bytes, want %s with few", m.Outcome, n, c.want)
		}
	}
}

func TestAConflictNamesTheFilesAndChangesNothing(t *testing.T) {
	p := newProject(t)
	a, b := p.worked("A", "shared.txt", "A\n"), p.worked("B", "shared.txt", "B\n")
	first, _ := p.merge(p.order(a))
	refs := p.Git(p.Dir, "for-each-ref")
	m, _ := p.merge(p.order(b, "true"))
	if m.Outcome != teamstate.MergeConflict || !slices.Equal(m.Conflicts, []string{"shared.txt"}) || m.Commit != "" {
		t.Errorf("%+v", m)
	}
	if !strings.Contains(m.Output, "git -C "+b.Path+" merge "+session) {
		t.Errorf("it does not say what to do:\n%s", m.Output)
	}
	if p.Git(p.Dir, "for-each-ref") != refs || p.at(session) != first.Commit || p.Git(b.Path, "status", "--porcelain") != "" {
		t.Error("something was changed")
	}
	p.noLeftovers(2)
}

func TestUncommittedWorkOfAGroupIsMerged(t *testing.T) {
	p := newProject(t)
	a := p.worked("A", "a.txt", "a\n")
	p.Write(a.Path, "a.txt", "changed\n")
	p.Write(a.Path, "new.txt", "new\n")
	m, _ := p.merge(p.order(a, "cat new.txt"))
	if m.Outcome != teamstate.MergeDone || p.Git(p.Dir, "show", session+":a.txt") != "changed" || p.Git(p.Dir, "show", session+":new.txt") != "new" {
		t.Errorf("%+v", m)
	}
	if got := p.Git(a.Path, "log", "-1", "--format=%s"); got != "Work of group A" || p.Git(a.Path, "status", "--porcelain") != "" {
		t.Errorf("%s", got)
	}
}

func TestUncommittedWorkInTheSessionsWorktreeDoesNotPreventAMerge(t *testing.T) {
	p := newProject(t)
	team := p.tree(worktree.Spec{Task: "team", Branch: session, Shared: true})
	a := p.worked("A", "a.txt", "a\n")
	p.Write(team.Path, "shared.txt", "from the manager\n")
	m, _ := p.merge(p.order(a, "cat a.txt"))
	if m.Outcome != teamstate.MergeDone || p.Read(team.Path, "a.txt")+p.Read(team.Path, "shared.txt") != "a\nfrom the manager\n" {
		t.Errorf("%+v", m)
	}
	if p.Git(team.Path, "status", "--porcelain") != "" || p.Git(team.Path, "rev-parse", "HEAD") != m.Commit {
		t.Errorf("%s", p.Git(team.Path, "status"))
	}
}

func TestWorkThatIsNotOnTheBranchPreventsTheMerge(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(p project, dir string)
		want  teamstate.MergeOutcome
	}{
		"on another branch": {func(p project, dir string) {
			p.Git(dir, "switch", "--quiet", "--create", "mine")
			p.Write(dir, "b.txt", "b\n")
			p.Commit(dir, "elsewhere")
		}, teamstate.MergeConflict},
		"on no branch": {func(p project, dir string) {
			p.Git(dir, "switch", "--quiet", "--detach")
			p.Write(dir, "b.txt", "b\n")
		}, teamstate.MergeConflict},
		"in a merge with conflicts": {func(p project, dir string) {
			p.Write(p.Dir, "a.txt", "other\n")
			p.Commit(p.Dir, "other")
			_, _ = p.Try(dir, "merge", "main") // the merge ends with a conflict
		}, teamstate.MergeConflict},
		"an older commit is looked at": {func(p project, dir string) {
			p.Git(dir, "switch", "--quiet", "--detach", "HEAD~1")
		}, teamstate.MergeDone},
		"the folder is gone": {func(p project, dir string) { p.Must(os.RemoveAll(dir)) }, teamstate.MergeDone},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			a := p.worked("A", "a.txt", "a\n")
			c.leave(p, a.Path)
			m, _ := p.merge(p.order(a))
			if m.Outcome != c.want || m.Outcome == teamstate.MergeConflict && !strings.Contains(m.Output, a.Path) {
				t.Errorf("%+v", m)
			}
			if moved := p.at(session) != p.start; moved != (c.want == teamstate.MergeDone) {
				t.Errorf("moved: %v", moved)
			}
		})
	}
}

func TestTheSessionIsDelivered(t *testing.T) {
	p := newProject(t)
	p.merge(p.order(p.worked("A", "a.txt", "a\n")))
	p.Write(p.Dir, "notes.txt", "mine\n")
	m, _ := p.merge(p.deliver("cat a.txt"))
	if m.Outcome != teamstate.MergeDone || m.Commit != p.at("main") || p.Read(p.Dir, "a.txt") != "a\n" || p.Git(p.Dir, "status", "--porcelain") != "?? notes.txt" {
		t.Errorf("%+v\n%s", m, p.Git(p.Dir, "status"))
	}
	p.noLeftovers(1)
}

func TestTheUsersUncommittedWorkIsNotChanged(t *testing.T) {
	p := newProject(t)
	p.merge(p.order(p.worked("A", "a.txt", "a\n")))
	p.Write(p.Dir, "shared.txt", "mine\n")
	m, _ := p.merge(p.deliver("true"))
	if m.Outcome != teamstate.MergeConflict || !slices.Equal(m.Conflicts, []string{"shared.txt"}) || !strings.Contains(m.Output, "stash") {
		t.Errorf("%+v", m)
	}
	if p.Read(p.Dir, "shared.txt") != "mine\n" || p.at("main") != p.start {
		t.Error("touched")
	}
	p.Git(p.Dir, "checkout", "--quiet", "shared.txt")
	p.Write(p.Dir, "a.txt", "mine and not known to git\n")
	if m, _ := p.merge(p.deliver("true")); m.Outcome != teamstate.MergeConflict || !strings.Contains(m.Output, "a.txt") {
		t.Errorf("%+v", m)
	}
	if p.Read(p.Dir, "a.txt") != "mine and not known to git\n" || p.at("main") != p.start {
		t.Error("touched")
	}
}

func TestADeliveryWithAConflictSaysHowTheUserFinishesIt(t *testing.T) {
	p := newProject(t)
	p.merge(p.order(p.worked("A", "shared.txt", "A\n")))
	p.Write(p.Dir, "shared.txt", "mine\n")
	mine := p.Commit(p.Dir, "mine")
	m, _ := p.merge(p.deliver())
	if m.Outcome != teamstate.MergeConflict || !slices.Equal(m.Conflicts, []string{"shared.txt"}) || !strings.Contains(m.Output, " merge main\n") || p.at("main") != mine {
		t.Errorf("%+v", m)
	}
}

func TestABranchThatMovesDuringTheTestsIsTestedAgain(t *testing.T) {
	p := newProject(t)
	a := p.worked("A", "a.txt", "a\n")
	once := filepath.Join(p.Top, "once")
	move := "test -e " + once + " && exit 0; : >" + once + "; cd " + p.Dir +
		" && git update-ref refs/heads/" + session + " $(git commit-tree -p " + session + " -m meanwhile main^{tree})"
	m, said := p.merge(p.order(a, move))
	if m.Outcome != teamstate.MergeDone || strings.Count(said, "$ ") < 2 || p.Git(p.Dir, "log", "-1", "--format=%s", session+"^") != "meanwhile" {
		t.Errorf("%+v\n%s", m, said)
	}
	p.noLeftovers(1)
}

func TestARetryableFailureIsAnError(t *testing.T) {
	p := newProject(t)
	a := p.worked("A", "a.txt", "a\n")
	for name, o := range map[string]teammerge.Spec{
		"no branch":       {Run: run, Into: session},
		"a missing one":   {Run: run, Branch: "nothing", Into: session},
		"a missing other": {Run: run, Branch: a.Branch, Into: "nothing"},
	} {
		var out bytes.Buffer
		if err := teammerge.Run(t.Context(), p.Dir, p.input(o), &out); err == nil || strings.Contains(out.String(), "outcome") {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
	if err := teammerge.Run(t.Context(), p.Dir, strings.NewReader("no JSON"), &bytes.Buffer{}); err == nil {
		t.Error("what is not a spec was done")
	}
	p.Write(p.Dir, "shared.txt", "mine\n")
	p.Git(p.Dir, "switch", "--quiet", session)
	cmd := p.child(p.order(a))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(errs.String(), "not committed") || !strings.Contains(errs.String(), "stash") {
		t.Errorf("the user works on the session's branch: %v\n%s", err, errs.String())
	}
}
