package mcp

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The variables by which an agent that gaffer runs knows what it is.
const (
	attemptVar = "GAFFER_ATTEMPT"
	runVar     = "GAFFER_RUN"
	taskVar    = "GAFFER_TASK"
	roleVar    = "GAFFER_ROLE"
)

// Identify says who calls, by the environment that the caller was given and the
// role that the command line names. Whoever runs an agent sets its role; the
// command line can only make less of it.
func Identify(getenv func(string) string, named string) (Caller, error) {
	c := Caller{Role: Person, Attempt: getenv(attemptVar), Run: getenv(runVar), Task: getenv(taskVar)}
	if c.Attempt != "" {
		c.Role = Worker
	}
	given := getenv(roleVar)
	if given != "" {
		role, err := ParseRole(given)
		if err != nil {
			return c, fmt.Errorf("%s: %w", roleVar, err)
		}
		c.Role = role
	}
	if named == "" {
		return c, nil
	}
	role, err := ParseRole(named)
	if err != nil {
		return c, fmt.Errorf("--role: %w", err)
	}
	if bound := given != "" || c.Attempt != ""; bound && role != c.Role && role != Reader {
		return c, &RoleError{
			Problem: fmt.Sprintf("%s: this agent was started as %s", role, c.Role),
			Next:    "leave --role out, or use --role reader; a plan sets another with 'env: {GAFFER_ROLE: …}'",
		}
	}
	c.Role = role
	return c, nil
}

// Inherited returns the variables of the nearest ancestor of a process that
// belongs to an attempt, or nil. Some programs start their servers with hardly
// any of their own environment.
func Inherited(pid int) func(string) string {
	const deepest = 64
	for range deepest {
		pid = parentOf(pid)
		if pid <= 1 {
			return nil
		}
		if getenv := environOf(pid); getenv(attemptVar) != "" {
			return getenv
		}
	}
	return nil
}

// parentOf is 0 if that cannot be known.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}

func environOf(pid int) func(string) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // of another user: as if it had none
	return func(name string) string {
		for line := range strings.SplitSeq(string(data), "\x00") {
			if key, value, ok := strings.Cut(line, "="); ok && key == name {
				return value
			}
		}
		return ""
	}
}
