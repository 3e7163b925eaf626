package fake

// oneTurn is the part of a protocol that takes no messages.
type oneTurn struct{}

func (oneTurn) interrupted(usage) int { return 1 }

func (oneTurn) taken() []string { return nil }

func (oneTurn) complete() bool { return true }

func (oneTurn) next() (string, bool) { return "", false }
