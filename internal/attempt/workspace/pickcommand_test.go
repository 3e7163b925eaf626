package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine/selection"
	"gaffer/internal/plan"
)

// contestRepo returns a repository in which two candidates have written different files, the
// worktree of the task that picks, and the path of the file with its step.
func contestRepo(t *testing.T) (repo *worktree.Repo, own worktree.Tree, step string) {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "repo")
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", root, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "-b", "main")
	git("config", "user.name", "t")
	git("config", "user.email", "t@example.com")
	git("commit", "-q", "--allow-empty", "-m", "start")
	ctx := context.Background()
	repo, err := worktree.Open(ctx, root)
	if err != nil {
		t.Fatal(err)
	}
	base, err := repo.Base(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	create := func(task string) worktree.Tree {
		tree, err := repo.Create(ctx, worktree.Spec{Run: "r", Task: task, Branch: worktree.BranchOf("r", task), Base: base, Root: filepath.Join(dir, "trees")})
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	s := selection.PickInput{Run: "r", Task: "api", By: plan.PickUser}
	for _, id := range []string{"api.claude", "api.codex"} {
		tree := create(id)
		if err := os.WriteFile(filepath.Join(tree.Path, "out.txt"), []byte(id), 0o644); err != nil {
			t.Fatal(err)
		}
		s.Candidates = append(s.Candidates, fleet.Candidate{Task: id, Status: fleet.Complete, Branch: tree.Branch})
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	step = filepath.Join(dir, "step")
	if err := os.WriteFile(step, append(text, "\n\n---\nThis was tried before."...), 0o644); err != nil {
		t.Fatal(err)
	}
	return repo, create("api"), step
}

func TestTheUserPicksAndASecondAttemptKeepsTheDecision(t *testing.T) {
	t.Parallel()
	_, own, step := contestRepo(t)
	pick := func(answers string) (string, error) {
		var out bytes.Buffer
		err := RunPick(context.Background(), own.Path, step, strings.NewReader(answers), &out)
		return out.String(), err
	}
	if _, err := pick(""); err == nil || !strings.Contains(err.Error(), "not answered") {
		t.Errorf("without an answer: %v", err)
	}
	said, err := pick("nobody\ncodex\n")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said, `"nobody" is no candidate`) || !strings.HasSuffix(said, "picked api.codex: the user has picked it\n") {
		t.Errorf("it said %s", said)
	}
	if data, err := os.ReadFile(filepath.Join(own.Path, "out.txt")); string(data) != "api.codex" {
		t.Errorf("the worktree has %q, %v", data, err)
	}
	// Suppose that the attempt died after the merge: the next one must not take another candidate.
	said, err = pick("claude\n")
	if err != nil || said != "picked api.codex: an earlier attempt has picked it\n" {
		t.Errorf("the second attempt said %q, %v", said, err)
	}
	if data, _ := os.ReadFile(filepath.Join(own.Path, "out.txt")); string(data) != "api.codex" {
		t.Errorf("the worktree has %q now", data)
	}
	// Now the agent of the picked candidate continues, and the task that picks is queued again.
	text, err := os.ReadFile(step)
	if err != nil {
		t.Fatal(err)
	}
	again := strings.Replace(string(text), `"by":"user"`, `"by":"user","picked":"api.codex"`, 1)
	if err := os.WriteFile(step, []byte(again), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(own.Path), "api.codex", "out.txt"), []byte("newer"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := pick(""); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(filepath.Join(own.Path, "out.txt")); string(data) != "newer" {
		t.Errorf("the newer work is not taken: %q", data)
	}
}
