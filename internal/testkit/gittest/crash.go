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

// moments holds shell commands, one of which replaces the word MOMENT in the script killer. Each of
// them kills the process that has called git. The first command does not run git. The second runs
// git before it kills the process. The third kills the process and then runs git, so git makes its
// change although its caller is dead.
var moments = []string{
	`kill -9 $PPID; exit 1`,
	`"$REAL_GIT" "$@"; code=$?; kill -9 $PPID; exit $code`,
	`kill -9 $PPID; exec "$REAL_GIT" "$@"`,
}

// killer is a script that is called in place of git. It counts the git commands that change the
// repository. At the command whose number is in the variable KILL_AT, it kills the process that has
// called the script.
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

// EachCrash tests that a program can be killed at any of its git commands that change the
// repository. It calls the function run again and again. Each call must start the program with the
// environment env, wait until the program has ended, check that repeating the work succeeds, and
// return the program's error.
//
// EachCrash makes three series of calls. In the first call of a series, the program is killed at
// its first such git command, in the second call at its second one, and so on. A series ends with
// the call in which the program was not killed, because it has run fewer git commands. In the first
// series, git does not make its change. In the second, the program is killed after the change. In
// the third, the program is killed before the change, but git makes the change all the same. The
// test fails if a series has fewer than minCrashes crashes.
func EachCrash(t *testing.T, minCrashes int, run func(env []string) error) {
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
		if n <= minCrashes {
			t.Errorf("moment %d: only %d crashes", i, n-1)
		}
	}
}
