package merge

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
	"gaffer/internal/testkit/gittest"
	"gaffer/internal/testkit/testenv"
)

// merge merges the branches of the trees into a branch.
func (p project) merge(into string, trees ...worktree.Tree) (Result, error) {
	s := Spec{Into: into, Message: "Run: run1\n"}
	for _, t := range trees {
		s.Branches = append(s.Branches, t.Branch)
	}
	return Branches(p.Context(), p.repo, s)
}

func TestBranchesAreMergedInOrderWithoutAWorktree(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.Git(p.Dir, "branch", "target")
	a, b := p.work("a", "a.txt", "a\n"), p.work("b", "b.txt", "b\n")
	check := p.Untouched(p.Dir)
	got, err := p.merge("target", b, a)
	if err != nil {
		t.Fatal(err)
	}
	check()
	subjects := p.Git(p.Dir, "log", "--first-parent", "--format=%s", "target")
	if want := "Merge branch 'gaffer/run1/a' into target\nMerge branch 'gaffer/run1/b' into target\nfirst"; subjects != want {
		t.Errorf("log: %s", subjects)
	}
	if got.Before != a.Base.Commit || got.After != p.Git(p.Dir, "rev-parse", "target") || len(got.Merged) != 2 || got.Updated != "" {
		t.Errorf("result: %+v", got)
	}
	if got.Merged[0].Branch != b.Branch || got.Merged[0].Commit != p.Git(p.Dir, "rev-parse", "target~1") {
		t.Errorf("result: %+v", got)
	}
	if body := p.Git(p.Dir, "log", "-1", "--format=%b|%an|%cn", "target"); body != "Run: run1\n|Person|Person" {
		t.Errorf("commit: %s", body)
	}
	again, err := p.merge("target", b, a)
	if err != nil || again.After != got.After || !slices.Equal(again.Skipped, []string{b.Branch, a.Branch}) {
		t.Errorf("again: %+v, %v", again, err)
	}
	for _, tree := range []worktree.Tree{a, b} {
		if s := p.status(tree); s.Unpushed != 0 || !s.Clean() {
			t.Errorf("%s: %+v", tree.Task, s)
		}
	}
}

func TestACleanWorktreeIsMovedForward(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "a.txt", "a\n")
	p.Write(p.Dir, "untracked.txt", "mine\n")
	p.Write(p.Dir, "noise.log", "mine\n")
	got, err := p.merge("main", tree)
	if err != nil || got.Updated != p.Dir {
		t.Fatalf("%+v, %v", got, err)
	}
	if p.Read(p.Dir, "a.txt") != "a\n" || p.Git(p.Dir, "status", "--porcelain") != "?? untracked.txt" || p.Git(p.Dir, "rev-parse", "HEAD") != got.After {
		t.Errorf("status: %s", p.Git(p.Dir, "status", "--porcelain"))
	}
}

func TestAWorktreeWithChangesIsNotTouched(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p project){
		"changed": func(p project) { p.Write(p.Dir, "shared.txt", "mine\n") },
		"staged":  func(p project) { p.Write(p.Dir, "new.txt", "mine\n"); p.Git(p.Dir, "add", "new.txt") },
		"deleted": func(p project) { p.Must(os.Remove(filepath.Join(p.Dir, "shared.txt"))) },
		"in the way": func(p project) {
			p.Write(p.Dir, "a.txt", "mine\n") // an untracked file of the user, which the merge would overwrite
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			tree := p.work("a", "a.txt", "a\n")
			change(p)
			check := p.Untouched(p.Dir)
			got, err := p.merge("main", tree)
			e := gittest.As[*TargetError](t, err)
			if !e.Conflict() || e.Path != p.Dir || !strings.Contains(e.Hint(), git.Quote(p.Dir)) || got.After != got.Before || len(got.Merged) > 0 {
				t.Errorf("%v\n%s\n%+v", e, e.Hint(), got)
			}
			check()
			if name == "in the way" && (p.Read(p.Dir, "a.txt") != "mine\n" || !strings.Contains(e.Error(), "a.txt")) {
				t.Errorf("%v", e)
			}
			// The changed files do not prevent a merge into a branch that is not checked out.
			p.Git(p.Dir, "branch", "target")
			if _, err := p.merge("target", tree); err != nil {
				t.Error(err)
			}
			check()
		})
	}
}

func TestADirtyWorktreeDoesNotMatterWhenAllIsMerged(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "a.txt", "a\n")
	if _, err := p.merge("main", tree); err != nil {
		t.Fatal(err)
	}
	p.Write(p.Dir, "shared.txt", "mine\n")
	if got, err := p.merge("main", tree); err != nil || len(got.Skipped) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestABranchThatIsCheckedOutInALinkedWorktreeIsMovedForwardThere(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	s := p.spec("whole")
	s.Branch, s.Shared = "feature", true
	whole, tree := p.create(s), p.work("a", "a.txt", "a\n")
	check := p.Untouched(p.Dir)
	got, err := p.merge("feature", tree)
	if err != nil || got.Updated != whole.Path || p.Read(whole.Path, "a.txt") != "a\n" || !p.status(whole).Clean() {
		t.Errorf("%+v, %v", got, err)
	}
	check()
	p.Must(os.RemoveAll(whole.Path))
	b := p.work("b", "b.txt", "b\n")
	_, err = p.merge("feature", b)
	if e := gittest.As[*TargetError](t, err); !strings.Contains(e.Error(), "git worktree prune") {
		t.Errorf("its folder is gone: %v", e)
	}
}

func TestAConflictStopsThereAndLeavesTheRestAsItWas(t *testing.T) {
	t.Parallel()
	for _, into := range []string{"main", "target"} {
		p := newProject(t)
		p.Git(p.Dir, "branch", "target")
		a := p.work("a", "shared.txt", "one\nA\nthree\n")
		b := p.work("b b", "shared.txt", "one\nB\nthree\n")
		c := p.work("c", "c.txt", "c\n")
		p.Write(b.Path, "sub/it's.txt", "B\n")
		p.Write(a.Path, "sub/it's.txt", "A\n")
		p.Commit(a.Path, "more")
		p.Commit(b.Path, "more")
		checkMain, checkTree := p.Untouched(p.Dir), p.Untouched(b.Path)
		got, err := p.merge(into, a, b, c)
		e := gittest.As[*ConflictError](t, err)
		if !e.Conflict() || e.Branch != b.Branch || !slices.Equal(e.Files, []string{"shared.txt", "sub/it's.txt"}) || !slices.Equal(e.Rest, []string{c.Branch}) {
			t.Errorf("%+v", e)
		}
		if len(got.Merged) != 1 || got.Merged[0].Branch != a.Branch || got.After != p.Git(p.Dir, "rev-parse", into) {
			t.Errorf("result: %+v", got)
		}
		if into == "main" {
			if p.Git(p.Dir, "status", "--porcelain") != "" || p.Git(p.Dir, "rev-parse", "HEAD") != got.After {
				t.Error("the person's worktree is not clean at what was merged")
			}
		} else {
			checkMain()
		}
		checkTree()
		p.finish(e)
		got, err = p.merge(into, a, b, c)
		if err != nil || len(got.Skipped) != 1 || len(got.Merged) != 2 {
			t.Errorf("after it was finished: %+v, %v", got, err)
		}
		if text := p.Git(p.Dir, "show", into+":shared.txt"); text != "one\nboth\nthree" {
			t.Errorf("merged: %s", text)
		}
	}
}

// finish runs the commands that the error suggests to the user.
func (p project) finish(e *ConflictError) {
	p.Helper()
	last := len(e.Commands) - 2
	for i, command := range e.Commands {
		if i == last {
			p.Write(e.Dir, "shared.txt", "one\nboth\nthree\n")
		}
		cmd := exec.CommandContext(p.Context(), "sh", "-c", command)
		cmd.Dir = p.root
		cmd.Env = append(os.Environ(), "GIT_EDITOR=true")
		out, err := cmd.CombinedOutput()
		if (err != nil) != (i == last-1) { // only the merge command fails, because of the conflict
			p.Fatalf("%s: %v\n%s", command, err, out)
		}
		if !strings.Contains(e.Hint(), command) {
			p.Errorf("the hint does not have %s:\n%s", command, e.Hint())
		}
	}
}

func TestAConflictOfABranchWithoutAWorktreeCanBeFinishedToo(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "shared.txt", "one\nA\nthree\n")
	b := p.work("b", "shared.txt", "one\nB\nthree\n")
	if _, err := p.repo.Remove(t.Context(), b, true); err != nil {
		t.Fatal(err)
	}
	_, err := p.merge("main", a, b)
	e := gittest.As[*ConflictError](t, err)
	if len(e.Commands) != 4 || !strings.HasPrefix(e.Dir, p.Dir+"-merge-") {
		t.Fatalf("%+v", e)
	}
	p.finish(e)
	if _, err = p.merge("main", a, b); err != nil {
		t.Error(err)
	}
}

func TestAFileThatOneSideDeletedIsAConflict(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "shared.txt", "changed\n")
	b := p.create(p.spec("b"))
	p.Git(b.Path, "rm", "--quiet", "shared.txt")
	p.Commit(b.Path, "delete it")
	_, err := p.merge("main", a, b)
	if e := gittest.As[*ConflictError](t, err); !slices.Equal(e.Files, []string{"shared.txt"}) {
		t.Errorf("%+v", e)
	}
}

func TestABranchThatIsNotThereStopsBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "a.txt", "a\n")
	check := p.Untouched(p.Dir)
	_, err := p.merge("main", a, worktree.Tree{Branch: "nothing"})
	if e := gittest.As[*git.MissingError](t, err); e.Name != "nothing" || e.Hint() == "" {
		t.Errorf("%v", e)
	}
	_, err = p.merge("nothing", a)
	_ = gittest.As[*git.MissingError](t, err)
	check()
}

func TestHooksDoNotRunAndSettingsDoNotMatter(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, hook := range []string{"pre-commit", "commit-msg", "post-merge", "pre-merge-commit", "post-checkout", "reference-transaction"} {
		p.Write(p.Dir, ".git/hooks/"+hook, "#!/bin/sh\necho "+hook+" >>"+git.Quote(p.Dir+"-hooks")+"\nexit 1\n")
		p.Must(os.Chmod(filepath.Join(p.Dir, ".git/hooks", hook), 0o755))
	}
	a := p.create(p.spec("a"))
	p.Write(a.Path, "a.txt", "a\r\nb\n")
	p.Git(a.Path, "-c", "core.hooksPath=/dev/null", "add", "a.txt")
	p.Git(a.Path, "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "work")
	for _, setting := range []string{
		"merge.ff=false", "commit.gpgSign=true", "core.safecrlf=true", "core.autocrlf=input", "status.showUntrackedFiles=no",
		"core.quotePath=true", "diff.noprefix=true", "color.ui=always", "status.short=true", "status.branch=true",
	} {
		name, value, _ := strings.Cut(setting, "=")
		p.Git(p.Dir, "-c", "core.hooksPath=/dev/null", "config", name, value)
	}
	p.Write(a.Path, "ü.txt", "x\r\ny\n")
	if s := p.status(a); len(s.Dirty) != 1 || s.Dirty[0] != (worktree.File{State: "??", Path: "ü.txt"}) {
		t.Errorf("status: %+v", s)
	}
	if _, err := p.merge("main", a); err != nil {
		t.Fatal(err)
	}
	if _, err := p.repo.Remove(t.Context(), a, true); err != nil {
		t.Fatal(err)
	}
	if ran, err := os.ReadFile(p.Dir + "-hooks"); err == nil {
		t.Errorf("hooks ran: %s", ran)
	}
}

// meddler is a shell script in place of git. Once, it runs another command before it calls git.
const meddler = `#!/bin/sh
case " $* " in
*" commit-tree "*)
	if [ ! -e "$ONCE" ]; then
		: >"$ONCE"
		(PATH=${PATH#*:}; eval "$MEDDLE")
	fi
	;;
esac
exec "$REAL_GIT" "$@"
`

// mergeWhile merges in another process, and runs a command during that merge.
func (p project) mergeWhile(s Spec, command string) {
	p.Helper()
	program, err := exec.LookPath("git")
	p.Must(err)
	bin := filepath.Join(p.root, "bin")
	p.Write(bin, "git", meddler)
	p.Must(os.Chmod(filepath.Join(bin, "git"), 0o755))
	cmd := gittest.Child(p.T, "merge", p.Dir, s, "REAL_GIT="+program, "ONCE="+filepath.Join(p.root, "once"), "MEDDLE="+command,
		"PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("%v: %s", err, out)
	}
	p.Read(p.root, "once")
}

func TestACommitThatAPersonMakesMeanwhileIsNotLost(t *testing.T) {
	t.Parallel()
	for into, command := range map[string]string{
		"main":   "git -C %s commit --quiet --allow-empty -m meanwhile",
		"target": "cd %s && git update-ref refs/heads/target $(git commit-tree -p target -m meanwhile target^{tree})",
	} {
		p := newProject(t)
		p.Git(p.Dir, "branch", "target")
		a := p.work("a", "a.txt", "a\n")
		p.mergeWhile(Spec{Into: into, Branches: []string{a.Branch}}, strings.ReplaceAll(command, "%s", git.Quote(p.Dir)))
		log := p.Git(p.Dir, "log", "--first-parent", "--format=%s", into)
		if want := "Merge branch 'gaffer/run1/a' into " + into + "\nmeanwhile\nfirst"; log != want {
			t.Errorf("%s: log: %s", into, log)
		}
		if got := p.Git(p.Dir, "status", "--porcelain"); got != "" {
			t.Errorf("%s: status: %s", into, got)
		}
	}
}

func TestABranchThatAPersonSwitchesToMeanwhileIsNotMergedInto(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "a.txt", "a\n")
	p.mergeWhile(Spec{Into: "main", Branches: []string{a.Branch}}, "git -C "+git.Quote(p.Dir)+" switch --quiet --create other")
	if p.Git(p.Dir, "rev-parse", "other") != a.Base.Commit || p.Git(p.Dir, "status", "--porcelain", "--branch") != "## other" {
		t.Errorf("the person's branch: %s", p.Git(p.Dir, "status", "--branch"))
	}
	if got := p.Git(p.Dir, "show", "main:a.txt"); got != "a" {
		t.Errorf("merged: %s", got)
	}
}

func TestAMergeOverwritesNoIgnoredFileOfAPerson(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.Write(p.Dir, "notes.log", "my notes\n")
	a := p.create(p.spec("a"))
	p.Write(a.Path, "notes.log", "agent\n")
	p.Git(a.Path, "add", "--force", "notes.log")
	p.Git(a.Path, "commit", "--quiet", "-m", "work")
	check := p.Untouched(p.Dir)
	_, err := p.merge("main", a)
	if e := gittest.As[*TargetError](t, err); !strings.Contains(e.Error(), "notes.log") {
		t.Errorf("%v", e)
	}
	check()
	if got := p.Read(p.Dir, "notes.log"); got != "my notes\n" {
		t.Errorf("it has %q", got)
	}
}

func TestNoSettingHasAMergeDoLess(t *testing.T) {
	t.Parallel()
	for _, options := range []string{"--squash", "--no-commit"} {
		p := newProject(t)
		p.Git(p.Dir, "config", "branch.main.mergeOptions", options)
		a := p.work("a", "new.txt", "x\n")
		done, err := p.merge("main", a)
		if err != nil || p.Git(p.Dir, "rev-parse", "main") != done.After || p.Git(p.Dir, "status", "--porcelain") != "" {
			t.Errorf("%s: %v, %s", options, err, p.Git(p.Dir, "status", "--porcelain"))
		}
	}
}

func TestABranchThatIsBeingRebasedIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.Git(p.Dir, "branch", "up")
	linked := filepath.Join(p.root, "linked")
	for i, dir := range []string{p.Dir, linked} {
		if i == 1 {
			p.Git(p.Dir, "worktree", "add", "--quiet", "-b", "side", linked, "main~1")
		}
		branch := p.Git(dir, "symbolic-ref", "--short", "HEAD")
		a := p.work("a"+branch, branch+".txt", "x\n")
		p.Write(dir, "shared.txt", "mine of "+branch+"\n")
		p.Commit(dir, "mine")
		p.Git(p.Dir, "worktree", "add", "--quiet", "--detach", dir+"-up", "up")
		p.Write(dir+"-up", "shared.txt", "theirs of "+branch+"\n")
		p.Commit(dir+"-up", "theirs")
		if out, err := p.Try(dir, "rebase", p.Git(dir+"-up", "rev-parse", "HEAD")); err == nil {
			t.Fatalf("no conflict: %s", out)
		}
		_, err := p.merge(branch, a)
		if e := gittest.As[*TargetError](t, err); e.Path != dir || !strings.Contains(e.Error(), "rebase") {
			t.Errorf("%v", e)
		}
		p.Write(dir, "shared.txt", "both\n")
		p.Git(dir, "add", "shared.txt")
		p.Git(dir, "-c", "core.editor=true", "rebase", "--continue")
		if _, err := p.merge(branch, a); err != nil && branch == "main" { // only main must accept the merge: the other branch has diverged too far
			t.Error(err)
		}
	}
}

func TestMergeIsDoneOnceAfterACrashAtAnyStep(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	spec := Spec{Into: "main", Branches: []string{"gaffer/run1/a", "gaffer/run1/b"}}
	prepare := func(p project) any {
		p.work("a", "a.txt", "x\n")
		p.work("b", "b.txt", "y\n")
		return spec
	}
	eachCrash(t, "merge", 2, prepare, func(p project) {
		if _, err := Branches(p.Context(), p.repo, spec); err != nil {
			p.Error(err)
		}
		if got := p.Git(p.Dir, "rev-list", "--merges", "--count", "main"); got != "2" {
			p.Errorf("%s merges, want 2", got)
		}
		if got := p.Git(p.Dir, "status", "--porcelain"); got != "" {
			p.Errorf("the person's worktree: %s", got)
		}
		if p.Read(p.Dir, "a.txt")+p.Read(p.Dir, "b.txt") != "x\ny\n" {
			p.Error("a file is missing")
		}
	})
}

func TestARepositoryWhoseGitFolderLiesElsewhereIsFound(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.Git(p.Dir, "init", "--quiet", "--separate-git-dir="+p.Dir+"-git")
	p.repo = p.open(p.Dir)
	if got := p.repo.Main(); got != p.Dir {
		t.Errorf("main is %s, want %s", got, p.Dir)
	}
	tree := p.create(p.spec("a"))
	p.Read(tree.Path, "shared.txt")
	p.Git(p.Dir, "config", "core.worktree", p.Dir)
	if got := p.open(tree.Path).Main(); got != p.Dir {
		t.Errorf("from a linked worktree: main is %s, want %s", got, p.Dir)
	}
	p.Write(tree.Path, "new.txt", "x\n")
	p.Commit(tree.Path, "work")
	if got, err := p.merge("main", tree); err != nil || got.Updated != p.Dir || p.Read(p.Dir, "new.txt") != "x\n" {
		t.Errorf("%+v, %v", got, err)
	}
}
