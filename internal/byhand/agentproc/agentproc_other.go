//go:build !linux

package agentproc

// Agents lists the processes of this user that are agents with a terminal. Where
// there is no /proc none is found.
func Agents() []Process { return nil }

// Ancestor is the agent that has started this process, 0 if it cannot be told.
func Ancestor(string) int { return 0 }

// Look reads what the system says of a process.
func Look(int) (Process, bool) { return Process{}, false }

// Variables are those of a process's environment.
func Variables(int, ...string) map[string]string { return nil }

// ProgramOf is the agent program that a process is, "" if it cannot be told.
func ProgramOf(int) string { return "" }

// Children lists the processes that a process has started or adopted.
func Children(int) []int { return nil }

// Arguments are the words of a process's command line.
func Arguments(int) []string { return nil }

// Environ is what a process was started with.
func Environ(int) map[string]string { return nil }

// FolderOf is where a process works.
func FolderOf(int) string { return "" }

// RolloutOf is the rollout that a process has open, if it has one.
func RolloutOf(int) string { return "" }

// DeviceOf is the device of a terminal, as processes name it.
func DeviceOf(string) uint64 { return 0 }
