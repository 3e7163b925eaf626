package machines

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/testkit/testenv"
)

// The test upgrades a fleet while it works: first a worker, then the coordinator together with the
// database schema. An old and a new worker work for the old coordinator, and then for the new one.
func TestAFleetIsUpgradedWhileItWorks(t *testing.T) {
	testenv.Proof(t)
	rng := seed(t)
	after := testenv.Program(t)
	before := previous(t, after)
	f := &fleet{t: t, network: New(t), marks: t.TempDir()}
	f.db = f.network.Machine("db").Postgres()
	f.addCoordinator("server", before)
	f.client = f.service("client", before).Machine
	f.addWorker("old", before)
	f.addWorker("new", after)
	run, tasks := f.submit(rng, 20)
	watch := WatchRun(run)
	defer watch.Stop()

	f.await(len(tasks) / 3)
	server := f.coordinators[0]
	server.process.Signal(syscall.SIGTERM)
	if err := server.process.Wait(30 * time.Second); err != nil {
		t.Errorf("the old coordinator ended with %v", err)
	}
	upgraded := time.Now()
	server.program = after
	server.start()
	f.ready(server)
	f.await(len(tasks))
	f.over(run)
	f.alive()

	s := f.stored(run)
	for _, task := range tasks {
		f.checkMarks(t, s, task)
	}
	for _, double := range watch.Stop() {
		t.Error(double)
	}
	s.checkShares(t, upgraded)
}

// checkShares checks that each worker has completed attempts for each of the two coordinators.
// upgraded is when the new coordinator replaced the old one.
func (s stored) checkShares(t *testing.T, upgraded time.Time) {
	t.Helper()
	did := map[string]int{}
	for _, list := range s.attempts {
		for _, a := range list {
			if a.Status == store.Complete {
				name, _, _ := strings.Cut(a.Worker, "-")
				did[fmt.Sprintf("%s worker, new coordinator: %t", name, a.Started.After(upgraded))]++
			}
		}
	}
	if len(did) != 4 {
		t.Errorf("not all versions have worked with each other: %v", did)
	}
	t.Log(did)
}

// previous builds gaffer from the newest commit whose code differs from this tree, and returns the
// program's path. If that commit has no workers yet, it returns the program of this tree.
func previous(t *testing.T, after string) string {
	t.Helper()
	commit := commitBefore(t)
	if commit == "" && deepen(t) {
		commit = commitBefore(t)
	}
	if commit == "" {
		const why = "no commit with other code is to be found: the history is needed, such as by git fetch --unshallow"
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "tree.tar")
	git(t, "archive", "--format=tar", "-o", archive, commit)
	if out, err := exec.Command("tar", "-xf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	program := build(t, dir)
	if err := exec.Command(program, "worker", "--help").Run(); err != nil {
		t.Logf("commit %.12s has no workers yet: this tree is upgraded to itself", commit)
		return after
	}
	t.Logf("commit %.12s is upgraded to this tree", commit)
	return program
}

// commitBefore returns the newest commit whose code differs from this tree, or "" if there is none.
func commitBefore(t *testing.T) string {
	t.Helper()
	code := []string{"*.go", "*.sql", "go.mod", "go.sum", ":!*_test.go", ":!internal/testkit/machines"}
	for _, commit := range strings.Fields(git(t, "rev-list", "--first-parent", "-n", "100", "HEAD")) {
		err := gitCommand(append([]string{"diff", "--quiet", commit, "--"}, code...)...).Run()
		if ended := (*exec.ExitError)(nil); errors.As(err, &ended) && ended.ExitCode() == 1 {
			return commit
		}
	}
	return ""
}

// deepen fetches more of the history if this is a shallow clone. It reports whether it did.
func deepen(t *testing.T) bool {
	t.Helper()
	if strings.TrimSpace(git(t, "rev-parse", "--is-shallow-repository")) != "true" {
		return false
	}
	out, err := gitCommand("fetch", "--quiet", "--deepen=20").CombinedOutput()
	if err != nil {
		t.Logf("git fetch: %v: %s", err, out)
	}
	return err == nil
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := gitCommand(args...).Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// gitCommand returns a git command that accepts repositories that belong to another user.
func gitCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{"-c", "safe.directory=*"}, args...)...)
	cmd.Dir = root
	return cmd
}
