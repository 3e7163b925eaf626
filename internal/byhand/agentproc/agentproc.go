// Package agentproc knows the agent programs that people start by hand, Claude
// Code, Codex and Gemini CLI, and finds their processes on this machine.
//
// Hooks use it, which must be quick: it imports nothing that takes long to
// begin (see package early).
package agentproc

// The programs.
const (
	Claude = "claude"
	Codex  = "codex"
	Gemini = "gemini"
)

// Programs lists them.
func Programs() []string { return []string{Claude, Codex, Gemini} }

// IsProgram tells whether a name is that of one of them.
func IsProgram(name string) bool { return name == Claude || name == Codex || name == Gemini }

// Process is a process of this machine.
type Process struct {
	PID, Parent int
	Name        string // of its program, 15 bytes at the most
	Start       uint64 // clock ticks since boot
	Terminal    uint64 // the device, 0 for none
	State       byte
	Program     string // which agent it is, empty for none
}
