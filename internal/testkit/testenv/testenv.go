// Package testenv holds helpers that tests of several packages share: the built
// program, waiting for a condition, and the amount of work at each test level.
//
// There are three test levels: script/check runs 'go test -short', script/test runs the tests
// without -short, and script/prove sets GAFFER_PROVE, so that tests run their long versions.
// CONTRIBUTING.md describes the levels. Only tests and other packages for tests import this
// package.
package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Environment variables that the test scripts set.
const (
	programVar = "GAFFER_TEST_PROGRAM" // path of a gaffer program that was built from this source tree
	proveVar   = "GAFFER_PROVE"        // if not empty, tests run their long versions
)

// Patience is how long Wait waits before the test fails. It is far longer than any condition takes,
// so that tests do not fail on a busy machine.
const Patience = 3 * time.Minute

// Count returns how often a test repeats its work. It returns the parameter quick under 'go test
// -short', the parameter proof in script/prove, and the parameter full otherwise.
func Count(quick, full, proof int) int {
	switch {
	case os.Getenv(proveVar) != "":
		return proof
	case testing.Short():
		return quick
	default:
		return full
	}
}

// Integration marks a test that starts many processes or takes seconds. script/test
// runs it; script/check, which uses -short, does not.
func Integration(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("integration test: script/test runs it")
	}
}

// Proof marks a test that only script/prove runs.
func Proof(t testing.TB) {
	t.Helper()
	if os.Getenv(proveVar) == "" {
		t.Skip("long proof: script/prove runs it")
	}
}

// Program returns the path of a gaffer program that was built from this source tree. The test
// scripts build the program once for all packages. If no script runs the tests, each test process
// builds it once.
func Program(t testing.TB) string {
	t.Helper()
	path, err := BuildProgram()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// BuildProgram is like [Program], but returns an error instead of failing a test, so that TestMain
// can call it.
var BuildProgram = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(programVar); path != "" {
		// Call os.Stat, so that the go command knows that the test depends on this file. It then
		// runs the test again when the program has changed, instead of using a cached result.
		_, err := os.Stat(path)
		return path, err
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".build")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Other test processes may build the program at the same time. So each process builds a file of
	// its own and then renames that file to the common name.
	own := filepath.Join(dir, fmt.Sprintf("gaffer-%d", os.Getpid()))
	build := exec.Command("go", "build", "-buildvcs=false", "-o", own, "./cmd/gaffer")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build gaffer: %w\n%s", err, out)
	}
	path := filepath.Join(dir, "gaffer")
	return path, os.Rename(own, path)
})

// moduleRoot returns the module's root folder: the nearest folder that contains go.mod, starting at
// the test's folder and going up.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the test's folder")
		}
		dir = parent
	}
}

// ProcessesWith returns the pids of the processes that have the variable NAME=VALUE in their
// environment. A test that marks its processes can use it to find those that are still alive. It
// returns none on systems without /proc.
func ProcessesWith(variable string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // ignore the error: the pattern is valid
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended, or it belongs to another user
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && slices.Contains(strings.Split(string(data), "\x00"), variable) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Wait calls the function check again and again until it returns nil. If that takes longer than
// [Patience], Wait fails the test with the last error of check. The parameter what names the
// awaited condition in the failure message.
func Wait(t testing.TB, what string, check func() error) {
	t.Helper()
	var err error
	if !Poll(Patience, func() bool { err = check(); return err == nil }) {
		t.Fatalf("waited %v for %s; last seen: %v", Patience, what, err)
	}
}

// Poll calls the function check again and again until it returns true or the time limit has passed.
// Poll reports whether check returned true.
func Poll(limit time.Duration, check func() bool) bool {
	start := time.Now()
	for delay := time.Millisecond; !check(); delay = min(delay*3/2, 250*time.Millisecond) {
		if time.Since(start) > limit {
			return false
		}
		time.Sleep(delay)
	}
	return true
}

// WaitFor calls the function get again and again until the function ok returns true for the value
// of get. It then returns that value. If that takes longer than [Patience], WaitFor fails the test
// with the last value.
func WaitFor[V any](t testing.TB, what string, get func() V, ok func(V) bool) V {
	t.Helper()
	var seen V
	Wait(t, what, func() error {
		if seen = get(); !ok(seen) {
			return fmt.Errorf("%+v", seen)
		}
		return nil
	})
	return seen
}
