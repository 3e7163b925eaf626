package supervisor

import "syscall"

// freezer stops and resumes the agent's process group.
type freezer struct{ passes }

func (f *freezer) pass(agent int) (still bool) {
	_ = syscall.Kill(-agent, syscall.SIGSTOP) // an error means that no process is left, which is fine
	return true
}

func (f *freezer) thaw(agent int) { _ = syscall.Kill(-agent, syscall.SIGCONT) }
