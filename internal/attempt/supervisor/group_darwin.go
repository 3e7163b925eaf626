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

// SweepGroups has nothing to do here: there are no control groups.
func SweepGroups(string) (left []int) { return nil }

// InLostGroups has nothing to list either.
func InLostGroups(string) []Marked { return nil }

// GroupMethod says how the processes of attempts are known on this machine.
func GroupMethod() string { return marksOnly }

func (s *signature) locate() {}

// Above reports whether one of the processes is above this one, which cannot be seen.
func (r Remains) Above(int) bool { return false }

// remainsOf cannot see the processes of an attempt without its supervisor.
func remainsOf(string, signature) Remains {
	return Remains{Why: "on macOS the processes of an attempt cannot be found without its supervisor"}
}
