// Package discover finds the agents that users have started in their terminals, and what each of
// them does. The programs are Claude Code, Codex and Gemini CLI.
//
// A [Finder] gathers what the programs have reported to gaffer's hooks (package hookevents), and
// other evidence on this machine. [Judge] takes each agent's status from the most reliable source
// that has one. If an agent's process has ended, the agent is gone, whatever the sources say.
package discover

// Source says where the status of an agent was found.
type Source string

// The sources of a status.
const (
	FromFile    Source = "sessions-file" // the session file that Claude writes for each process
	FromHook    Source = "hook"
	FromTitle   Source = "title"   // the title of the tmux pane
	FromRollout Source = "rollout" // the log that Codex writes for each thread
	FromScreen  Source = "screen"  // the text in the tmux pane
	// FromProcess means that a signal has stopped the agent's process, or that no other source has
	// a status.
	FromProcess Source = "process"
)
