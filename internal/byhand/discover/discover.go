// Package discover finds the agent programs that users have started in their terminals,
// and what each of them does: Claude Code, Codex and Gemini CLI.
//
// A [Finder] gathers the events of their hooks (package hookevents) and other
// evidence on this machine. [Judge] derives each agent's status from the best source
// that has one. A process that has ended overrides all sources.
package discover

// Source names where a status comes from.
type Source string

// The sources of a status.
const (
	FromFile    Source = "sessions-file" // Claude's session file of each process
	FromHook    Source = "hook"
	FromTitle   Source = "title"   // title of the tmux pane
	FromRollout Source = "rollout" // Codex's log of a thread
	FromScreen  Source = "screen"  // text of the tmux pane
	FromProcess Source = "process" // the process is alive, and nothing else is known
)
