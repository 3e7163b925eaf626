package main_test

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gaffer/internal/testkit/testenv"
)

// began is what the runtime tells of a package that has begun.
var began = regexp.MustCompile(`(?m)^init (\S+) @.* clock, (\d+) bytes, (\d+) allocs$`)

// What every command of gaffer pays before it begins. It is counted in memory, which
// is the same on a busy machine: a package that builds a table when it is loaded, as
// go-runewidth did for some versions in 70 ms, shows in it.
const (
	mostBytes = 1 << 20
	mostOfOne = 256 << 10
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
		if sum += n; n > mostOfOne {
			t.Errorf("%s allocates %d bytes when it is loaded", m[1], n)
		}
	}
	if len(all) < 20 || sum > mostBytes {
		t.Errorf("%d packages allocate %d bytes when they are loaded", len(all), sum)
	}
}
