// Package discover knows what the agent programs do that people start by
// hand: Claude Code, Codex and Gemini CLI in a terminal of their own.
//
// A [Finder] gathers what their hooks have said (package heard) and all else that
// can be known on this machine, and [Judge] says what each agent does, by the best
// source that speaks. Whether the process lives comes before all of them.
package discover

// Source is who says so.
type Source string

// The sources.
const (
	FromFile    Source = "sessions-file" // Claude's own note of each of its processes
	FromHook    Source = "hook"
	FromTitle   Source = "title"   // of the tmux pane
	FromRollout Source = "rollout" // Codex's record of a thread
	FromScreen  Source = "screen"  // the text in the tmux pane
	FromProcess Source = "process" // it lives, and nothing else is known
)
