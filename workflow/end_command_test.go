package workflow_test

import (
	"testing"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

const untracked = `"untrackedChanges": [
  {"file": "a.js", "section": "status-line", "sectionNumber": "2.12", "timestamp": "2026-02-13T10:05:00Z", "more": 1.0},
  {"file": "b.js", "section": "core-flow", "sectionNumber": "2.2", "timestamp": "2026-02-13T10:05:00Z"},
  {"file": "c.js", "section": "core-flow", "sectionNumber": "2.2", "timestamp": "2026-02-13T10:05:00Z"}
]`

func TestEvolveAndReviewClearTheUntrackedChangesOfTheirSections(t *testing.T) {
	for name, c := range map[string]struct {
		state    string
		sections []string
		cleared  int
	}{
		"evolve by alias":        {`"currentCommand": "evolve"`, []string{"#core-flow"}, 2},
		"review by number":       {`"currentCommand": "review"`, []string{"2.12"}, 1},
		"several":                {`"currentCommand": "review"`, []string{"status-line", "2.2"}, 3},
		"the active section":     {`"currentCommand": "evolve", "activeSection": "#status-line"`, nil, 1},
		"the active number":      {`"currentCommand": "evolve", "activeSectionNumber": "2.2"`, nil, 2},
		"none is named":          {`"currentCommand": "evolve"`, nil, 0},
		"one that has none":      {`"currentCommand": "evolve", "activeSection": "#status-line"`, []string{"9.9"}, 0},
		"another command":        {`"currentCommand": "execute", "activeSection": "#status-line"`, nil, 0},
		"a word of another tool": {`"currentCommand": "polish"`, nil, 0},
	} {
		p := newProject(t, workflow.Options{}).with("state.json", "{"+c.state+", "+untracked+"}")
		cleared := -1
		p.must(func(root *jsontree.Node) (err error) {
			cleared, err = workflow.EndCommandFor(root, c.sections...)
			return err
		})
		s := p.state()
		if cleared != c.cleared || len(s.UntrackedChanges) != 3-c.cleared || s.CurrentCommand != "" {
			t.Errorf("%s: cleared %d, want %d; %+v", name, cleared, c.cleared, s.UntrackedChanges)
		}
	}
}

func TestOtherCommandsClearNoUntrackedChanges(t *testing.T) {
	for state, want := range map[string]string{
		`{"currentCommand": "execute", ` + untracked + `}`:      "usage",
		`{` + untracked + `}`:                                   "conflict",
		`{"currentCommand": "evolve", "untrackedChanges": "x"}`: "invalid",
	} {
		p := newProject(t, workflow.Options{}).with("state.json", state)
		err := p.edit(func(root *jsontree.Node) error {
			_, err := workflow.EndCommandFor(root, "#core-flow")
			return err
		})
		if says(err) != want || p.read("state.json") != state {
			t.Errorf("%s: %v", state, err)
		}
	}
}
