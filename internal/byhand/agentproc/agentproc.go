// Package agentproc finds the processes of agent programs on this machine: Claude Code, Codex and
// Gemini CLI.
//
// The command 'gaffer hook' uses this package. Agent programs call that command often and wait for
// it, so this package imports nothing that slows down the start of a process.
package agentproc

// The names of the agent programs.
const (
	Claude = "claude"
	Codex  = "codex"
	Gemini = "gemini"
)

// Programs returns the names of the agent programs whose hooks and session files gaffer reads. The
// agent program opencode is not among them.
func Programs() []string { return []string{Claude, Codex, Gemini} }

// IsProgram reports whether name is one of [Programs].
func IsProgram(name string) bool { return name == Claude || name == Codex || name == Gemini }

// Process is a process of this machine.
type Process struct {
	PID, Parent int
	// Name is usually the file name of the executable. The kernel cuts it to 15 bytes.
	Name     string
	Start    uint64 // start time in clock ticks since boot
	Terminal uint64 // device number of the controlling terminal; 0 if there is none
	State    byte
	Program  string // name of the agent program that the process runs; only [Agents] sets it
}
