package main_test

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gaffer/internal/testkit/testenv"
)

// began matches a line of the Go runtime's trace about the initialization of a package.
var began = regexp.MustCompile(`(?m)^init (\S+) @.* clock, (\d+) bytes, (\d+) allocs$`)

// Limits for the memory that the initialization of all packages may allocate, which every gaffer
// command does first. Memory is measured instead of time, because it is the same on a busy machine.
// It shows a package that builds a large table, as go-runewidth did in some versions for 70 ms.
const (
	mostBytes = 1 << 20
	mostOfOne = 256 << 10
	mostOfOwn = 12 << 10 // limit for a package of gaffer: a few compiled expressions take more, see package lazyregexp
)

func TestNothingMuchHappensBeforeACommandBegins(t *testing.T) {
	testenv.Integration(t)
	cmd := exec.Command(testenv.Program(t), "version")
	cmd.Env = append(cmd.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	all := began.FindAllStringSubmatch(trace.String(), -1)
	sum := 0
	for _, m := range all {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if sum += n; n > mostOfOne || n > mostOfOwn && strings.HasPrefix(m[1], "gaffer/") {
			t.Errorf("%s allocates %d bytes when it is loaded", m[1], n)
		}
	}
	if len(all) < 20 || sum > mostBytes {
		t.Errorf("%d packages allocate %d bytes when they are loaded", len(all), sum)
	}
}
