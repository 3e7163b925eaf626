package fleet

// TerminalSize is the size of a terminal in characters.
type TerminalSize struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
}

// TerminalPhase says what a client that views an agent's terminal sees: for example, the running
// agent, or no terminal yet.
type TerminalPhase string

// The values of TerminalPhase. After TerminalEnded, no other phase follows.
const (
	// TerminalWaiting means that there is no terminal yet: the attempt has just started, or the
	// next attempt has not started.
	TerminalWaiting TerminalPhase = "waiting"
	TerminalLive    TerminalPhase = "live"
	// TerminalClosed means that the attempt has not ended but has no terminal any more, for example
	// because the agent has ended and gaffer now runs the checks.
	TerminalClosed TerminalPhase = "closed"
	TerminalEnded  TerminalPhase = "ended" // the task has ended
)

// TerminalState is the state of one client's view of an agent's terminal.
type TerminalState struct {
	Phase TerminalPhase `json:"phase"`
	// Screen is a number that changes whenever the whole terminal is drawn again. The client must
	// then clear its screen.
	Screen int `json:"screen"`
	TerminalSize
	Typist string `json:"typist,omitempty"` // name of the user who may type; empty if nobody may
	Mine   bool   `json:"mine,omitempty"`   // this client may type, and what it types already reaches the terminal

	Attempt int    `json:"attempt,omitempty"` // number of the shown attempt
	Status  Status `json:"status,omitempty"`  // status of the task
	Class   string `json:"class,omitempty"`   // failure class of the shown attempt, if it has failed
	Exit    int    `json:"exit,omitempty"`    // exit code of the shown attempt, if it has ended
	Summary string `json:"summary,omitempty"` // the agent's last message, or what went wrong
}
