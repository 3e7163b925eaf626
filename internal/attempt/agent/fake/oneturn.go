package fake

// oneTurn implements some methods of the interface [protocol], for programs that accept no message
// after the prompt and do not report their usage during a turn.
type oneTurn struct{}

func (oneTurn) interrupted(usage) int { return 1 }

func (oneTurn) spend(usage) bool { return true }

func (oneTurn) arrived() []string { return nil }

func (oneTurn) endTurn() bool { return true }

func (oneTurn) next() (string, bool) { return "", false }
