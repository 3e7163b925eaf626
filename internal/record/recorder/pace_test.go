package recorder

import (
	"testing"
	"time"

	"gaffer/session"
)

func TestADocumentOfManyAgentsIsLeftAloneForAsLongAsItIsWorth(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		agents     int
		took, want time.Duration
	}{
		{10, time.Millisecond, DefaultPace},
		{10, time.Second, DefaultPace}, // the disk is slow, but the document is not large
		{manyAgents, time.Millisecond, DefaultPace},
		{manyAgents, 20 * time.Millisecond, 200 * time.Millisecond},
		{5 * manyAgents, 70 * time.Millisecond, 700 * time.Millisecond},
		{5 * manyAgents, time.Minute, maxPace},
	} {
		r := New(Options{})
		r.state = &sessionState{status: session.Status{Agents: make([]session.Agent, test.agents)}}
		r.lastWriteTook = test.took
		if got := r.pace(); got != test.want {
			t.Errorf("%d agents that took %s: left alone for %s, want %s", test.agents, test.took, got, test.want)
		}
	}
}
