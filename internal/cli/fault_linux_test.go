package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
)

// otherUser is the id of a user without privileges and processes.
const otherUser = 54321

// asOtherUser returns a function that creates commands of the gaffer program in a separate folder.
// The commands run as a user without privileges, because root is not subject to limits. If the test
// does not run as root, they run as the current user.
func asOtherUser(t *testing.T) func(shell string, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "gaffer")
	data, err := os.ReadFile(testenv.Program(t))
	if err == nil {
		err = os.WriteFile(program, data, 0o755)
	}
	for _, d := range []string{filepath.Dir(dir), dir, filepath.Join(dir, "project"), filepath.Join(dir, "home")} {
		if err == nil {
			err = os.MkdirAll(d, 0o755)
		}
		if err == nil {
			err = os.Chmod(d, 0o755)
		}
	}
	credential := (*syscall.Credential)(nil)
	if os.Geteuid() == 0 {
		credential = &syscall.Credential{Uid: otherUser, Gid: otherUser, NoSetGroups: true}
		for _, d := range []string{"project", "home"} {
			if err == nil {
				err = os.Chown(filepath.Join(dir, d), otherUser, otherUser)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(shell string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "/bin/bash", append([]string{"-c", shell, program}, args...)...)
		cmd.Dir = filepath.Join(dir, "project")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "XDG_STATE_HOME=" + filepath.Join(dir, "home")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
		return cmd
	}
}

// threadsOfUser counts the threads of a user.
func threadsOfUser(uid int) (n int) {
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*") // the only error is an invalid pattern
	for _, task := range tasks {
		if info, err := os.Stat(task); err == nil && int(info.Sys().(*syscall.Stat_t).Uid) == uid {
			n++
		}
	}
	return n
}

func TestFaultAUserWithFewProcessesRunsAllTasksWithFewAtOnce(t *testing.T) {
	testenv.Integration(t)
	const tasks = 30
	for _, limit := range []int{30, 60} {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			gaffer := asOtherUser(t)
			user := os.Geteuid()
			if user == 0 {
				user = otherUser
			}
			plan := fmt.Sprintf("parallel: %d\ntasks:\n", tasks)
			for i := range tasks {
				plan += fmt.Sprintf("  - {id: t%d, shell: 'touch runs-%[1]d; ls -d runs-* | wc -l >>at-once; sleep 0.2; rm runs-%[1]d'}\n", i)
			}
			run := gaffer(fmt.Sprintf(`cat >plan.yaml; ulimit -u %d; exec "$0" run plan.yaml`, limit+threadsOfUser(user)))
			run.Stdin = strings.NewReader(plan)
			var said strings.Builder
			run.Stderr = &said
			if out, err := run.Output(); err != nil {
				t.Fatalf("%v\n%s%s", err, out, &said)
			}
			if n := strings.Count(said.String(), "cannot be started now"); n != 1 {
				t.Errorf("it was reported %d times that tasks cannot be started:\n%s", n, &said)
			}
			shown, err := gaffer(`exec "$0" status --json`).Output()
			if err != nil {
				t.Fatal(err)
			}
			var ended fleet.Run
			if err := json.Unmarshal(shown, &ended); err != nil || len(ended.Tasks) != tasks {
				t.Fatalf("%v: %s", err, shown)
			}
			for _, task := range ended.Tasks {
				if task.Status != fleet.Complete || task.Tries != 1 {
					t.Errorf("task %s is %s after %d attempts", task.ID, task.Status, task.Tries)
				}
			}
			counts, err := os.ReadFile(filepath.Join(run.Dir, "at-once"))
			if err != nil {
				t.Fatal(err)
			}
			most := 0
			for line := range strings.Lines(string(counts)) {
				n, _ := strconv.Atoi(strings.TrimSpace(line)) // cannot fail: wc prints a number
				most = max(most, n)
			}
			if most == 0 || most > tasks/3 {
				t.Errorf("%d tasks ran at once with %d processes", most, limit)
			}
		})
	}
}
