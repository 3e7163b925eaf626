package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/git"
)

// merge merges the trees' branches.
func (p project) merge(into string, trees ...Tree) (MergeResult, error) {
	s := MergeSpec{Into: into, Message: "Run: run1\n"}
	for _, t := range trees {
		s.Branches = append(s.Branches, t.Branch)
	}
	return p.repo.Merge(p.Context(), s)
}

func TestBranchesAreMergedInOrderWithoutAWorktree(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.git(p.dir, "branch", "target")
	a, b := p.work("a", "a.txt", "a\n"), p.work("b", "b.txt", "b\n")
	check := p.untouched(p.dir)
	got, err := p.merge("target", b, a)
	if err != nil {
		t.Fatal(err)
	}
	check()
	subjects := p.git(p.dir, "log", "--first-parent", "--format=%s", "target")
	if want := "Merge branch 'gaffer/run1/a' into target\nMerge branch 'gaffer/run1/b' into target\nfirst"; subjects != want {
		t.Errorf("log: %s", subjects)
	}
	if got.Before != a.Base.Commit || got.After != p.git(p.dir, "rev-parse", "target") || len(got.Merged) != 2 || got.Updated != "" {
		t.Errorf("result: %+v", got)
	}
	if got.Merged[0].Branch != b.Branch || got.Merged[0].Commit != p.git(p.dir, "rev-parse", "target~1") {
		t.Errorf("result: %+v", got)
	}
	if body := p.git(p.dir, "log", "-1", "--format=%b|%an|%cn", "target"); body != "Run: run1\n|Person|Person" {
		t.Errorf("commit: %s", body)
	}
	again, err := p.merge("target", b, a)
	if err != nil || again.After != got.After || !slices.Equal(again.Skipped, []string{b.Branch, a.Branch}) {
		t.Errorf("again: %+v, %v", again, err)
	}
	for _, tree := range []Tree{a, b} {
		if s := p.status(tree); s.Unpushed != 0 || !s.Clean() {
			t.Errorf("%s: %+v", tree.Task, s)
		}
	}
}

func TestACleanWorktreeIsMovedForward(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "a.txt", "a\n")
	p.write(p.dir, "untracked.txt", "mine\n")
	p.write(p.dir, "noise.log", "mine\n")
	got, err := p.merge("main", tree)
	if err != nil || got.Updated != p.dir {
		t.Fatalf("%+v, %v", got, err)
	}
	if p.read(p.dir, "a.txt") != "a\n" || p.git(p.dir, "status", "--porcelain") != "?? untracked.txt" || p.git(p.dir, "rev-parse", "HEAD") != got.After {
		t.Errorf("status: %s", p.git(p.dir, "status", "--porcelain"))
	}
}

func TestAWorktreeWithChangesIsNotTouched(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p project){
		"changed": func(p project) { p.write(p.dir, "shared.txt", "mine\n") },
		"staged":  func(p project) { p.write(p.dir, "new.txt", "mine\n"); p.git(p.dir, "add", "new.txt") },
		"deleted": func(p project) { p.must(os.Remove(filepath.Join(p.dir, "shared.txt"))) },
		"in the way": func(p project) {
			p.write(p.dir, "a.txt", "mine\n") // untracked, and the merge would overwrite it
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			tree := p.work("a", "a.txt", "a\n")
			change(p)
			check := p.untouched(p.dir)
			got, err := p.merge("main", tree)
			e := as[*TargetError](t, err)
			if !e.Conflict() || e.Path != p.dir || !strings.Contains(e.Hint(), git.Quote(p.dir)) || got.After != got.Before || len(got.Merged) > 0 {
				t.Errorf("%v\n%s\n%+v", e, e.Hint(), got)
			}
			check()
			if name == "in the way" && (p.read(p.dir, "a.txt") != "mine\n" || !strings.Contains(e.Error(), "a.txt")) {
				t.Errorf("%v", e)
			}
			// With another target branch the changes are not in the way.
			p.git(p.dir, "branch", "target")
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
	p.write(p.dir, "shared.txt", "mine\n")
	if got, err := p.merge("main", tree); err != nil || len(got.Skipped) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestABranchThatIsCheckedOutInALinkedWorktreeIsMovedForwardThere(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	s := p.spec("whole")
	s.Branch, s.Shared = "feature", true
	whole, tree := p.createSpec(s), p.work("a", "a.txt", "a\n")
	check := p.untouched(p.dir)
	got, err := p.merge("feature", tree)
	if err != nil || got.Updated != whole.Path || p.read(whole.Path, "a.txt") != "a\n" || !p.status(whole).Clean() {
		t.Errorf("%+v, %v", got, err)
	}
	check()
	p.must(os.RemoveAll(whole.Path))
	b := p.work("b", "b.txt", "b\n")
	_, err = p.merge("feature", b)
	if e := as[*TargetError](t, err); !strings.Contains(e.Error(), "git worktree prune") {
		t.Errorf("its folder is gone: %v", e)
	}
}

func TestAConflictStopsThereAndLeavesTheRestAsItWas(t *testing.T) {
	t.Parallel()
	for _, into := range []string{"main", "target"} {
		p := newProject(t)
		p.git(p.dir, "branch", "target")
		a := p.work("a", "shared.txt", "one\nA\nthree\n")
		b := p.work("b b", "shared.txt", "one\nB\nthree\n")
		c := p.work("c", "c.txt", "c\n")
		p.write(b.Path, "sub/it's.txt", "B\n")
		p.write(a.Path, "sub/it's.txt", "A\n")
		p.commit(a.Path, "more")
		p.commit(b.Path, "more")
		checkMain, checkTree := p.untouched(p.dir), p.untouched(b.Path)
		got, err := p.merge(into, a, b, c)
		e := as[*MergeError](t, err)
		if !e.Conflict() || e.Branch != b.Branch || !slices.Equal(e.Files, []string{"shared.txt", "sub/it's.txt"}) || !slices.Equal(e.Rest, []string{c.Branch}) {
			t.Errorf("%+v", e)
		}
		if len(got.Merged) != 1 || got.Merged[0].Branch != a.Branch || got.After != p.git(p.dir, "rev-parse", into) {
			t.Errorf("result: %+v", got)
		}
		if into == "main" {
			if p.git(p.dir, "status", "--porcelain") != "" || p.git(p.dir, "rev-parse", "HEAD") != got.After {
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
		if text := p.git(p.dir, "show", into+":shared.txt"); text != "one\nboth\nthree" {
			t.Errorf("merged: %s", text)
		}
	}
}

// finish runs the commands that the error suggests to the user.
func (p project) finish(e *MergeError) {
	p.Helper()
	last := len(e.Commands) - 2
	for i, command := range e.Commands {
		if i == last {
			p.write(e.Dir, "shared.txt", "one\nboth\nthree\n")
		}
		cmd := exec.CommandContext(p.Context(), "sh", "-c", command)
		cmd.Dir = p.root
		cmd.Env = append(os.Environ(), "GIT_EDITOR=true")
		out, err := cmd.CombinedOutput()
		if (err != nil) != (i == last-1) { // the merge itself ends with the conflict
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
	e := as[*MergeError](t, err)
	if len(e.Commands) != 4 || !strings.HasPrefix(e.Dir, p.dir+"-merge-") {
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
	b := p.create("b")
	p.git(b.Path, "rm", "--quiet", "shared.txt")
	p.commit(b.Path, "delete it")
	_, err := p.merge("main", a, b)
	if e := as[*MergeError](t, err); !slices.Equal(e.Files, []string{"shared.txt"}) {
		t.Errorf("%+v", e)
	}
}

func TestABranchThatIsNotThereStopsBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "a.txt", "a\n")
	check := p.untouched(p.dir)
	_, err := p.merge("main", a, Tree{Branch: "nothing"})
	if e := as[*git.MissingError](t, err); e.Name != "nothing" || e.Hint() == "" {
		t.Errorf("%v", e)
	}
	_, err = p.merge("nothing", a)
	_ = as[*git.MissingError](t, err)
	check()
}

func TestHooksDoNotRunAndSettingsDoNotMatter(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, hook := range []string{"pre-commit", "commit-msg", "post-merge", "pre-merge-commit", "post-checkout", "reference-transaction"} {
		p.write(p.dir, ".git/hooks/"+hook, "#!/bin/sh\necho "+hook+" >>"+git.Quote(p.dir+"-hooks")+"\nexit 1\n")
		p.must(os.Chmod(filepath.Join(p.dir, ".git/hooks", hook), 0o755))
	}
	a := p.create("a")
	p.write(a.Path, "a.txt", "a\r\nb\n")
	p.git(a.Path, "-c", "core.hooksPath=/dev/null", "add", "a.txt")
	p.git(a.Path, "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "work")
	for _, setting := range []string{
		"merge.ff=false", "commit.gpgSign=true", "core.safecrlf=true", "core.autocrlf=input", "status.showUntrackedFiles=no",
		"core.quotePath=true", "diff.noprefix=true", "color.ui=always", "status.short=true", "status.branch=true",
	} {
		name, value, _ := strings.Cut(setting, "=")
		p.git(p.dir, "-c", "core.hooksPath=/dev/null", "config", name, value)
	}
	p.write(a.Path, "ü.txt", "x\r\ny\n")
	if s := p.status(a); len(s.Dirty) != 1 || s.Dirty[0] != (File{"??", "ü.txt"}) {
		t.Errorf("status: %+v", s)
	}
	if _, err := p.merge("main", a); err != nil {
		t.Fatal(err)
	}
	if _, err := p.repo.Remove(t.Context(), a, true); err != nil {
		t.Fatal(err)
	}
	if ran, err := os.ReadFile(p.dir + "-hooks"); err == nil {
		t.Errorf("hooks ran: %s", ran)
	}
}

// meddler is a git that runs another command in between, once.
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

// mergeWhile merges in another process, and runs a command meanwhile.
func (p project) mergeWhile(s MergeSpec, command string) {
	p.Helper()
	program, err := exec.LookPath("git")
	p.must(err)
	bin := filepath.Join(p.root, "bin")
	p.write(bin, "git", meddler)
	p.must(os.Chmod(filepath.Join(bin, "git"), 0o755))
	cmd := child(p.T, "merge", p.dir, s, "REAL_GIT="+program, "ONCE="+filepath.Join(p.root, "once"), "MEDDLE="+command,
		"PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("%v: %s", err, out)
	}
	p.read(p.root, "once")
}

func TestACommitThatAPersonMakesMeanwhileIsNotLost(t *testing.T) {
	t.Parallel()
	for into, command := range map[string]string{
		"main":   "git -C %s commit --quiet --allow-empty -m meanwhile",
		"target": "cd %s && git update-ref refs/heads/target $(git commit-tree -p target -m meanwhile target^{tree})",
	} {
		p := newProject(t)
		p.git(p.dir, "branch", "target")
		a := p.work("a", "a.txt", "a\n")
		p.mergeWhile(MergeSpec{Into: into, Branches: []string{a.Branch}}, strings.ReplaceAll(command, "%s", git.Quote(p.dir)))
		log := p.git(p.dir, "log", "--first-parent", "--format=%s", into)
		if want := "Merge branch 'gaffer/run1/a' into " + into + "\nmeanwhile\nfirst"; log != want {
			t.Errorf("%s: log: %s", into, log)
		}
		if got := p.git(p.dir, "status", "--porcelain"); got != "" {
			t.Errorf("%s: status: %s", into, got)
		}
	}
}

func TestABranchThatAPersonSwitchesToMeanwhileIsNotMergedInto(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "a.txt", "a\n")
	p.mergeWhile(MergeSpec{Into: "main", Branches: []string{a.Branch}}, "git -C "+git.Quote(p.dir)+" switch --quiet --create other")
	if p.git(p.dir, "rev-parse", "other") != a.Base.Commit || p.git(p.dir, "status", "--porcelain", "--branch") != "## other" {
		t.Errorf("the person's branch: %s", p.git(p.dir, "status", "--branch"))
	}
	if got := p.git(p.dir, "show", "main:a.txt"); got != "a" {
		t.Errorf("merged: %s", got)
	}
}
