//go:build !linux

package agentproc

// Agents returns no processes, because this system has no /proc.
func Agents() []Process { return nil }

// Ancestor returns 0, because it cannot find the agent that started this process on this system.
func Ancestor(string) int { return 0 }

// Find returns false: processes cannot be read on this system.
func Find(int) (Process, bool) { return Process{}, false }

// Variables returns nil: environments cannot be read on this system.
func Variables(int, ...string) map[string]string { return nil }

// ProgramOf returns "": programs cannot be recognized on this system.
func ProgramOf(int) string { return "" }

// Children returns nil: processes cannot be read on this system.
func Children(int) []int { return nil }

// Arguments returns nil: arguments cannot be read on this system.
func Arguments(int) []string { return nil }

// Environ returns nil: environments cannot be read on this system.
func Environ(int) map[string]string { return nil }

// FolderOf returns "": working directories cannot be read on this system.
func FolderOf(int) string { return "" }

// RolloutOf returns "": open files cannot be read on this system.
func RolloutOf(int) string { return "" }

// DeviceOf returns 0, because the terminals of processes are unknown on this system.
func DeviceOf(string) uint64 { return 0 }
