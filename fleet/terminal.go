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
	// TerminalWaiting means that there is no terminal yet: the attempt has just started, or the
	// next attempt has not started.
	TerminalWaiting TerminalPhase = "waiting"
	TerminalLive    TerminalPhase = "live"
	// TerminalClosed means that the attempt goes on without a terminal, for example because the
	// agent has ended and gaffer runs the attempt's checks.
	TerminalClosed TerminalPhase = "closed"
	TerminalEnded  TerminalPhase = "ended" // the task has ended
)

// TerminalState is the state of one client's view of an agent's terminal.
type TerminalState struct {
	Phase TerminalPhase `json:"phase"`
	// Screen changes whenever the terminal is drawn anew. The client must then clear its screen.
	Screen int `json:"screen"`
	TerminalSize
	Typist string `json:"typist,omitempty"` // name of the user who may type; empty if nobody may
	Mine   bool   `json:"mine,omitempty"`   // this client may type, and the terminal already receives its keys

	Attempt int    `json:"attempt,omitempty"` // number of the shown attempt
	Status  Status `json:"status,omitempty"`  // status of the task
	Class   string `json:"class,omitempty"`   // failure class of the shown attempt, if it has failed
	Exit    int    `json:"exit,omitempty"`    // exit code of the shown attempt, if it has ended
	Summary string `json:"summary,omitempty"` // the agent's last message, or what went wrong
}
