package supervisor

import "syscall"

// freezer stops the agent's process group and has it go on again.
type freezer struct{ passes }

func (f *freezer) pass(agent int) (still bool) {
	_ = syscall.Kill(-agent, syscall.SIGSTOP) // nobody there is what we want
	return true
}

func (f *freezer) thaw(agent int) { _ = syscall.Kill(-agent, syscall.SIGCONT) }
