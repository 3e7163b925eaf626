package discover

import (
	"testing"

	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/hookevents"
)

func TestSessionsWithoutAKnownProcessAreNoAdditionalAgents(t *testing.T) {
	for count := range 5 {
		var docs []*document
		for range count {
			docs = append(docs, &document{session: hookevents.Session{Program: agentproc.Codex, Dir: "/w"}})
		}
		elsewhere := &document{session: hookevents.Session{Program: agentproc.Codex, Dir: "/v"}}
		docs = append(docs, elsewhere)
		told := 0
		for range 3 { // imitate three processes in that folder
			if sessionWithoutProcess(docs, agentproc.Codex, "/w") != nil {
				told++
			}
		}
		if (told == 1) != (count == 1) || told > 1 {
			t.Errorf("%d sessions: %d processes are told to have one", count, told)
		}
		for i, d := range docs[:count] {
			if !d.claimed {
				t.Errorf("%d sessions: that at %d counts as one more agent", count, i)
			}
		}
		if elsewhere.claimed {
			t.Error("that in another folder is claimed")
		}
	}
}
