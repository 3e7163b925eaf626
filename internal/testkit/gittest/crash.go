package gittest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// moments are the times at which a process is killed: before git's nth change, after it,
// and during it, so that git outlives the process.
var moments = []string{
	`kill -9 $PPID; exit 1`,
	`"$REAL_GIT" "$@"; code=$?; kill -9 $PPID; exit $code`,
	`kill -9 $PPID; exec "$REAL_GIT" "$@"`,
}

// killer is a git that counts the calls that change something.
const killer = `#!/bin/sh
case " $* " in
*" update-ref "* | *" worktree add "* | *" worktree remove "* | *" commit-tree "* | *" add --all "* | *" merge --ff-only "* | *" config --local "* | *" reset --keep "* | *" read-tree --reset "*)
	echo x >>"$COUNTER"
	if [ $(wc -l <"$COUNTER") -eq "$KILL_AT" ]; then
		MOMENT
	fi
	;;
esac
exec "$REAL_GIT" "$@"
`

// EachCrash calls run repeatedly, until the process that it starts is not killed. Each
// time run starts a process with the variables, in which a git kills it at the next call
// that changes something. Then run checks that repeating the process's work succeeds,
// and returns the error of the process. There must be at least so many crashes.
func EachCrash(t *testing.T, least int, run func(env []string) error) {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for i, moment := range moments {
		n := 1
		for ; ; n++ {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "git"), []byte(strings.ReplaceAll(killer, "MOMENT", moment)), 0o755); err != nil {
				t.Fatal(err)
			}
			err := run([]string{"REAL_GIT=" + program, "COUNTER=" + filepath.Join(dir, "count"), "KILL_AT=" + strconv.Itoa(n), "PATH=" + dir + ":" + os.Getenv("PATH")})
			if t.Failed() {
				t.Fatalf("killed at call %d of git, moment %d: %v", n, i, err)
			}
			if err == nil {
				break
			}
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != -1 {
				t.Fatalf("call %d, moment %d: %v", n, i, err)
			}
		}
		if n <= least {
			t.Errorf("moment %d: only %d crashes", i, n-1)
		}
	}
}
