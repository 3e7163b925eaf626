package supervisor

import (
	"errors"
	"syscall"
)

func makeCgroup(string) *cgroup { return nil }

func (g *cgroup) startInside(syscall.SysProcAttr, func(*syscall.SysProcAttr) (int, error)) (int, error) {
	return 0, errors.ErrUnsupported
}

func (g *cgroup) remove() error { return nil }

func (g *cgroup) killAndRemove() (left []int, removed bool) { return nil, true }

// SweepGroups does nothing: macOS has no control groups.
func SweepGroups(string) (left []int) { return nil }

// ListAbandoned returns nothing: macOS has no control groups.
func ListAbandoned(string) []Marked { return nil }

// GroupMethod says how this machine finds the processes of an attempt. On macOS it always returns
// the text for a machine without control groups.
func GroupMethod() string { return marksOnly }

// limitMark is empty on macOS, because it is used only on Linux.
type limitMark struct{}

func (s *supervisorRecord) describeDescendants() {}

// ContainsAncestorOf always returns false: on macOS gaffer does not read the parents of processes.
func (r Remains) ContainsAncestorOf(int) bool { return false }

// remainsOf always returns the proof Unproven: on macOS the processes of an attempt cannot be found
// without its supervisor.
func remainsOf(string, supervisorRecord) Remains {
	return Remains{Why: "on macOS the processes of an attempt cannot be found without its supervisor"}
}
