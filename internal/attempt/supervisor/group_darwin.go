package supervisor

import (
	"errors"
	"syscall"
)

func makeGroup(string) *group { return nil }

func (g *group) start(syscall.SysProcAttr, func(*syscall.SysProcAttr) (int, error)) (int, error) {
	return 0, errors.ErrUnsupported
}

func (g *group) remove() error { return nil }

func (g *group) dissolve() (left []int) { return nil }

// SweepGroups does nothing: macOS has no control groups.
func SweepGroups(string) (left []int) { return nil }

// InLostGroups returns nothing: macOS has no control groups.
func InLostGroups(string) []Marked { return nil }

// GroupMethod returns how this machine finds the processes of an attempt.
func GroupMethod() string { return marksOnly }

// limitMark is only used on Linux.
type limitMark struct{}

func (s *supervisorRecord) locate() {}

// Above always returns false: on macOS the parents of processes are not read.
func (r Remains) Above(int) bool { return false }

// remainsOf returns Unproven: on macOS the processes of an attempt cannot be found
// without its supervisor.
func remainsOf(string, supervisorRecord) Remains {
	return Remains{Why: "on macOS the processes of an attempt cannot be found without its supervisor"}
}
