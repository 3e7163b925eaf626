package machines

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// Main runs the tests of a package as root, because only root may create machines. If
// the process is not root, it runs them as root of a user namespace.
func Main(m *testing.M) int {
	if os.Getuid() == 0 {
		return m.Run()
	}
	code, err := rerunAsRoot()
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a user namespace:", err)
		return m.Run() // each test that needs machines is then skipped, or fails in CI
	}
	return code
}

// rerunAsRoot runs this program as root of a user namespace.
func rerunAsRoot() (code int, err error) {
	// Keep this thread until the child has ended: Pdeathsig kills the child when the thread that
	// has started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	err = cmd.Run()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return max(ended.ExitCode(), 1), nil
	}
	return 0, err
}

// skipOrFail skips a test because machines cannot be created. In CI it fails the test instead,
// because nobody would notice there that the test is always skipped.
func skipOrFail(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("the kernel refuses to make a machine, and CI must be where it does not: %v", err)
	}
	t.Skipf("the kernel refuses to make a machine: %v; run the test as root", err)
}

// unprivileged returns a command that runs argv as a user other than root, because some programs
// refuse to run as root. It also returns the uid and gid that this user has for the current
// process. If the current user namespace has only root, the command runs argv in a nested user
// namespace, and uid and gid are 0.
func unprivileged(argv []string) (command []string, uid, gid int) {
	const nobody = 65534
	all, err := os.ReadFile("/proc/self/uid_map")
	if fields := strings.Fields(string(all)); err == nil && len(fields) == 3 && fields[2] == "1" {
		return append([]string{"unshare", "--user", "--map-user=1000", "--map-group=1000", "--"}, argv...), 0, 0
	}
	id := fmt.Sprint(nobody)
	return append([]string{"setpriv", "--reuid", id, "--regid", id, "--clear-groups", "--"}, argv...), nobody, nobody
}
