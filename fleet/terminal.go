package fleet

// TerminalSize is the size of a terminal in characters.
type TerminalSize struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
}

// TerminalPhase says what a view of an agent's terminal shows.
type TerminalPhase string

// The phases of a view. After TerminalEnded, no other phase follows.
const (
	TerminalWaiting TerminalPhase = "waiting" // there is no terminal yet: the attempt has just started, or the next attempt has not started
	TerminalLive    TerminalPhase = "live"
	TerminalClosed  TerminalPhase = "closed" // the terminal has ended, but the attempt has not, for example because its checks are running
	TerminalEnded   TerminalPhase = "ended"  // the task has ended
)

// TerminalState is the state of one client's view of an agent's terminal.
type TerminalState struct {
	Phase  TerminalPhase `json:"phase"`
	Screen int           `json:"screen"` // number of the shown screen; the client must clear its screen when the number changes
	TerminalSize
	Typist string `json:"typist,omitempty"` // name of the user who has the keyboard; empty if none has
	Mine   bool   `json:"mine,omitempty"`   // this client has the keyboard, and its keys already reach the terminal

	Attempt int    `json:"attempt,omitempty"` // number of the shown attempt
	Status  Status `json:"status,omitempty"`  // status of the task
	Class   string `json:"class,omitempty"`   // failure class of the shown attempt, if it has failed
	Exit    int    `json:"exit,omitempty"`    // exit code of the shown attempt, if it has ended
	Summary string `json:"summary,omitempty"` // the agent's last message, or what went wrong
}
