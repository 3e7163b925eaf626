package supervisor

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A process that cannot open any more files sees no processes. That must not count as proof that
// the processes of an attempt are gone: the task would start again beside them.
func TestSecurityAProcessWithoutFreeFilesDoesNotTakeAnAttemptForGone(t *testing.T) {
	t.Parallel()
	const variable, attempt = "GAFFER_TEST_OPEN_FILES_OF", "attempt-of-a-shortage"
	if os.Getenv(variable) == "" {
		agent := exec.Command("sleep", "60")
		agent.Env = append(os.Environ(), Mark+"="+attempt)
		if err := agent.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = agent.Process.Kill(), agent.Wait() }()
		again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		again.Env = append(os.Environ(), variable+"="+attempt)
		out, err := again.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	limit := syscall.Rlimit{Cur: 64, Max: 64}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if found := remainsOf(attempt, supervisorRecord{}); found.Proof != Remaining || len(found.Processes) != 1 {
		t.Fatalf("before the shortage: %+v", found)
	}
	for f, err := os.Open(os.DevNull); err == nil; f, err = os.Open(os.DevNull) {
		defer f.Close()
	}
	if found := remainsOf(attempt, supervisorRecord{}); found.Proof != Unproven || !strings.Contains(found.Why, "too many open files") {
		t.Errorf("the processes: %+v", found)
	}
	group := &cgroup{Version: 2, Dir: "/sys/fs/cgroup", Mount: "/sys/fs/cgroup"}
	if populated, err := group.populated(); err == nil {
		t.Errorf("the control group: populated is %v without an error", populated)
	}
	if left, err := sweepAttempt(attempt, supervisorRecord{}); err == nil {
		t.Errorf("the processes to end: %v without an error", left)
	}
	if list, err := ListMarked(); err == nil {
		t.Errorf("the processes of attempts: %v without an error", list)
	}
	if (&freezer{}).pass(0) {
		t.Error("all processes count as frozen")
	}
}
