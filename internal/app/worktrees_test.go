package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
	"gaffer/internal/testkit/testenv"
)

// git runs git in the project's root and returns its output.
func (p testProject) git(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.root
	cmd.Env = gitEnv()
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// gitEnv returns an environment with a name and an address for commits.
func gitEnv() []string {
	return append(os.Environ(), "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t")
}

func newRepository(t *testing.T) testProject {
	p := newPlace(t)
	p.git("init", "--quiet", "--initial-branch=main")
	p.write("start.txt", "start\n")
	p.git("add", "--all")
	p.git("commit", "--quiet", "--message=start")
	return p
}

func (p testProject) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.root, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// flow returns a workflow of two parallel tasks, and one after them. Each runs a shell script.
func flow(first, second, last string) plan.Plan {
	tasks := []plan.Task{shell("one", first), shell("two", second), shell("last", last, "one", "two")}
	for i := range tasks {
		tasks[i].Wave = 1
	}
	tasks[2].Wave = 2
	for i := range 2 {
		tasks[i].Worktree, tasks[i].Branch = true, "flow--"+tasks[i].ID
	}
	return plan.Plan{
		Name: "flow", Source: plan.SourceOrchestrate, OnFailure: plan.Stop, Tasks: tasks,
		Workflow: &plan.Workflow{ID: "flow", Base: "main", Branch: "flow", OnComplete: plan.OnComplete{MergeTo: "main", DeleteWorktree: true}},
	}
}

func (p testProject) work(a *app.App, what plan.Plan) fleet.Run {
	p.t.Helper()
	id, err := a.Submit(p.t.Context(), what)
	if err != nil {
		p.t.Fatal(err)
	}
	run, err := a.Runs.Work(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	return run
}

func TestAWorkflowWorksInWorktreesAndIsMergedAsItSays(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newRepository(t)
	a := p.open()
	defer func() { _ = a.Close() }()
	run := p.work(a, flow("echo 1 > one.txt", "echo 2 > two.txt", "cat one.txt two.txt > both.txt"))
	if run.Status != fleet.Complete {
		t.Fatalf("the run is %s: %+v", run.Status, run.Tasks)
	}
	if got := p.git("show", "main:both.txt"); got != "1\n2" {
		t.Errorf("both.txt on main is %q", got)
	}
	if text, err := os.ReadFile(filepath.Join(p.root, "both.txt")); err != nil || string(text) != "1\n2\n" {
		t.Errorf("both.txt in the project, which has main checked out, is %q, %v", text, err)
	}
	if got := p.git("worktree", "list"); strings.Count(got, "\n") != 0 {
		t.Errorf("worktrees are left:\n%s", got)
	}
}

func TestAConflictIsATaskThatTheUserResolvesAndRetries(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newRepository(t)
	a := p.open()
	defer func() { _ = a.Close() }()
	run := p.work(a, flow("echo 1 > same.txt", "echo 2 > same.txt", "cat same.txt > seen.txt"))
	failed := run.Tasks[2]
	if run.Status != fleet.Failed || failed.ID != "merge-1" || failed.Status != fleet.Failed {
		t.Fatalf("the run is %s: %+v", run.Status, run.Tasks)
	}
	log := p.log(run.ID, "merge-1")
	for _, want := range []string{"conflict in same.txt", "git -C ", "commit --no-edit"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	two := run.Tasks[1].Worktree
	merge := exec.Command("git", "-C", two, "merge", "flow")
	merge.Env = gitEnv()
	if out, err := merge.CombinedOutput(); err == nil {
		t.Fatalf("no conflict: %s", out)
	}
	if err := os.WriteFile(filepath.Join(two, "same.txt"), []byte("1 and 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.git("-C", two, "add", "--all")
	p.git("-C", two, "commit", "--quiet", "--no-edit")
	if err := a.Fleet.Retry(t.Context(), run.ID, "merge-1"); err != nil {
		t.Fatal(err)
	}
	run, err := a.Runs.Work(t.Context(), run.ID)
	if err != nil || run.Status != fleet.Complete {
		t.Fatalf("the run is %s, %v: %+v", run.Status, err, run.Tasks)
	}
	if got := p.git("show", "main:seen.txt"); got != "1 and 2" {
		t.Errorf("seen.txt on main is %q", got)
	}
}

func TestAPlanWithWorktreesLeavesItsBranchesToTheUser(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newRepository(t)
	a := p.open()
	defer func() { _ = a.Close() }()
	task := shell("a", "echo new > start.txt && git commit --quiet -am new")
	task.Worktree = true
	task.Env = map[string]secret.Value{"GIT_AUTHOR_NAME": secret.Text("a"), "GIT_AUTHOR_EMAIL": secret.Text("a@a"), "GIT_COMMITTER_NAME": secret.Text("a"), "GIT_COMMITTER_EMAIL": secret.Text("a@a")}
	run := p.work(a, plan.Plan{Name: "p", Source: plan.SourceOrchestrate, Tasks: []plan.Task{task}})
	if run.Status != fleet.Complete {
		t.Fatalf("the run is %s: %+v", run.Status, run.Tasks[0].Attempt)
	}
	if got := p.git("show", "gaffer/"+run.ID+"/a:start.txt"); got != "new" {
		t.Errorf("start.txt on the branch is %q", got)
	}
	if got := p.git("show", "main:start.txt"); got != "start" {
		t.Errorf("start.txt on main is %q", got)
	}
	if _, err := os.Stat(run.Tasks[0].Worktree); err != nil {
		t.Error(err)
	}
}

// treeOf creates the worktree of a task, with one commit in it.
func (p testProject) treeOf(run, task string) (tree worktree.Tree) {
	p.t.Helper()
	repo, err := worktree.Open(p.t.Context(), p.root)
	if err != nil {
		p.t.Fatal(err)
	}
	base, err := repo.Base(p.t.Context(), "")
	if err == nil {
		tree, err = repo.Create(p.t.Context(), worktree.Spec{Run: run, Task: task, Base: base, Root: filepath.Join(p.t.TempDir(), "trees")})
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree.Path, task+".txt"), []byte("x\n"), 0o644); err != nil {
		p.t.Fatal(err)
	}
	p.git("-C", tree.Path, "add", "--all")
	p.git("-C", tree.Path, "commit", "--quiet", "--message=work")
	return tree
}

func TestAnEndIsMadeAgainWhenItWasKilledBetweenAFolderAndItsRecord(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newRepository(t)
	one, two := p.treeOf("r", "one"), p.treeOf("r", "two")
	p.git("merge", "--quiet", one.Branch, two.Branch)
	if err := os.RemoveAll(one.Path); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := workspace.RunMergeStep(t.Context(), p.root, strings.NewReader(`{"run": "r", "remove": true}`), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if got := p.git("worktree", "list"); strings.Count(got, "\n") != 0 {
		t.Errorf("worktrees are left:\n%s\n%s", got, out.String())
	}
}

// hub is the script of a fake gh program that remembers one pull request.
const hub = `#!/bin/sh
case "$1 $2" in
"pr list") cat "$0.open" 2>/dev/null ;;
"pr create") [ ! -e "$0.open" ] || { echo "already exists" >&2; exit 1; }; echo https://example.com/1 | tee "$0.open" ;;
esac
exit 0
`

func TestAPullRequestIsOfItsOwnBranchAndOpenedOnce(t *testing.T) {
	p := newRepository(t)
	bin, remote := t.TempDir(), filepath.Join(t.TempDir(), "remote.git")
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte(hub), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	p.git("init", "--quiet", "--bare", remote)
	p.git("remote", "add", "origin", remote)
	p.git("switch", "--quiet", "--create", "theirs")
	p.git("commit", "--quiet", "--allow-empty", "--message=of a colleague")
	p.git("push", "--quiet", "origin", "theirs:main")
	want := p.git("rev-parse", "theirs")
	p.git("switch", "--quiet", "main")
	p.git("update-ref", "refs/heads/+main", "main")
	for range 2 {
		var out strings.Builder
		if err := workspace.RunMergeStep(t.Context(), p.root, strings.NewReader(`{"run": "r", "branch": "+main", "open": "main"}`), &out); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if !strings.Contains(out.String(), "https://example.com/1") {
			t.Errorf("it said %q", out.String())
		}
	}
	if got := p.git("--git-dir", remote, "rev-parse", "refs/heads/main"); got != want {
		t.Errorf("the remote's main is %s, want %s", got, want)
	}
	if got := p.git("--git-dir", remote, "rev-parse", "refs/heads/+main"); got != p.git("rev-parse", "main") {
		t.Errorf("its own branch is %s", got)
	}
}
