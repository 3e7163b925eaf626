package serverfleet

import (
	"testing"

	"gaffer/coordinator"
)

func TestTheTaskOfOurOwnWorkersIsNamedAsEverywhere(t *testing.T) {
	ours := WorkerOf(coordinator.Agent{CurrentTaskID: "20260206-120000-ab12.api.v2", Meta: []byte(`{"program":"gaffer","held":2,"source":"output","run":"r"}`)})
	if ours.Task != "20260206-120000-ab12/api.v2" || ours.Held != 2 || ours.Source != "output" || ours.Run != "r" {
		t.Errorf("%+v", ours)
	}
	for _, meta := range []string{`{}`, `[]`, ``, `{"program":7,"held":"x"}`} {
		if theirs := WorkerOf(coordinator.Agent{CurrentTaskID: "ch.1", Meta: []byte(meta)}); theirs.Task != "ch.1" || theirs.Held != 0 {
			t.Errorf("%s: %+v", meta, theirs)
		}
	}
}
