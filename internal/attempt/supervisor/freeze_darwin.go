package supervisor

import "syscall"

// freezer stops and resumes the agent's process group.
type freezer struct{ passes }

func (f *freezer) pass(agent int) (still bool) {
	_ = syscall.Kill(-agent, syscall.SIGSTOP) // fails only if no process is left
	return true
}

func (f *freezer) thaw(agent int) { _ = syscall.Kill(-agent, syscall.SIGCONT) }
