package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gaffer/internal/testenv"
)

// leaveNothing ends every process that a script has started and that has outlived
// it, when the script has ended, however it did: servers and workers in the
// background, runs that were detached, supervisors and their agents. They are known
// by the variable with the script's folder, which they inherit.
func leaveNothing(e *testscript.Env) {
	mark := []byte("WORK=" + e.WorkDir)
	e.Defer(func() {
		end := time.Now().Add(testenv.Patience)
		for left := having(mark); len(left) > 0; left = having(mark) {
			if time.Now().After(end) {
				panic(fmt.Sprintf("processes %v of %s cannot be ended", left, e.WorkDir))
			}
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL) // or it has ended by itself
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// having lists the processes with a variable, given as NAME=VALUE.
func having(variable []byte) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is one
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended, or is somebody else's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && slices.ContainsFunc(bytes.Split(data, []byte{0}), func(v []byte) bool { return bytes.Equal(v, variable) }) {
			pids = append(pids, pid)
		}
	}
	return pids
}
