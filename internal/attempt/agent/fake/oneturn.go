package fake

// oneTurn implements the methods about messages for protocols that accept no message after the
// prompt.
type oneTurn struct{}

func (oneTurn) interrupted(usage) int { return 1 }

func (oneTurn) spend(usage) bool { return true }

func (oneTurn) arrived() []string { return nil }

func (oneTurn) endTurn() bool { return true }

func (oneTurn) next() (string, bool) { return "", false }
