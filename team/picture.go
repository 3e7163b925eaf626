package team

import "context"

// Picture is all that the documents of a session say.
type Picture struct {
	PM           PMState
	Groups       Groups
	Orchestrator OrchestratorState
	Messages     []Message // of every pair, in the order in which they were sent
}

// Record makes the documents of the session say what p says. Members that the
// protocol does not know stay, and so do messages of others; a document that is
// missing is made, and one that cannot be read is kept aside and made anew, with
// a notice. Nothing is written that says it already. A session of another id is
// a [*OtherSessionError].
func (s *Store) Record(ctx context.Context, p Picture) error { panic("contract") }
