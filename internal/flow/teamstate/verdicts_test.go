package teamstate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// verdictForm is a form of an answer, with %s for the status word. If sure is true, the word is
// clearly the answer's verdict. If not, the answer must not let work advance.
type verdictForm struct {
	text string
	sure bool
	only string // words for which the form is unclear; it is clear for other words
}

// good lists the status words with which work advances.
const good = "READY_FOR_QA PASS APPROVED"

var verdictForms = []verdictForm{
	{text: `{"status":"%s","summary":["a line"]}`, sure: true},
	{text: "Done.\n\n```json\n{\n  \"status\": \"%s\",\n  \"summary\": [\"a\", \"b\"]\n}\n```\n", sure: true},
	{text: "```\n{\"status\": \"%s\"}\n```", sure: true},
	{text: `{"status":"%s","summary":["a line",],}`, sure: true},
	{text: `{"Status":"%s"}`, sure: true},
	{text: "**Status:** %s\n\nThat is all.", sure: true},
	{text: "**Status**: %s", sure: true},
	{text: "Status: %s", sure: true},
	{text: "- *Status*: `%s`", sure: true},
	{text: "## Final status: **%s**", sure: true},
	{text: "### Review: %s\n", sure: true},
	{text: "Verdict — %s, as before", sure: true},
	{text: "✅ %s", sure: true},
	{text: "Prose.\r\n\r\n**Status:** %s\r\n", sure: true},
	{text: "For example:\n```json\n{\"status\":\"FAIL\"}\n```\n\n**Status:** %s", sure: true},
	{text: "> **Status:** CHANGES_REQUESTED\n\nThat was the last time.\n\n{\"status\":\"%s\"}", sure: true},
	{text: "Either **Status:** PASS or not.\n**Status:** PASS | FAIL\n{\"status\":\"%s\"}", sure: true},
	{text: "````text\n{\"status\":\"CHANGES_REQUESTED\"}\n````\n\nStatus: %s", sure: true},

	{text: "Status: %s, once the tests are there", only: good},
	{text: "**Status:** %s\n\nWait, that is wrong.", only: good},
	{text: "{\"status\":\"%s\"}\n\nOn second thought I want to see it again.", only: good},
	{text: "{\"status\":\"FAIL\"}\n\n{\"status\":\"BLOCKED\"}\n\n{\"status\":\"CHANGES_REQUESTED\"}\n\n{\"status\":\"%s\"}", only: good},
	{text: "{\"status\":\"%s\"}\n\n**Status:** to be decided"},
	{text: "{\"status\":\"%s\"}\n\n{\"status\":\"%[1]s\", \"summary\": [\"he said \"no\"\"]}"},
	{text: "{\"status\":\"%s\"}\n\n{\"status\": null}"},
	{text: "{\"status\":\"%s\"}\n\n**Status:** CHANGES_REQUESTED\n\n**Status:** FAIL\n\n**Status:** hm, hm"},
	{text: "{\"status\": \"%s\", \"summary\": [\"cut o"},
	{text: "I will not say %s yet."},
	{text: "> **Status:** %s"},
	{text: "**Status:** PASS | FAIL | %s"},
}

// said returns an answer with this word in form f, and whether its verdict is clear.
func (f verdictForm) said(word string, lower bool) (text string, sure bool) {
	sure = f.sure || f.only != "" && !slices.Contains(strings.Fields(f.only), word)
	if lower && f.sure {
		word = strings.ToLower(word)
	}
	return fmt.Sprintf(f.text, word), sure
}

const fiveGroups = `{"status":"PLANNED","mode":"parallel","groups":[
	{"id":"A","tasks":[{"id":"T1"}]},{"id":"B","tasks":[{"id":"T2"}]},{"id":"C","tasks":[{"id":"T3"}],"depends_on":["A"]},
	{"id":"D","tasks":[{"id":"T4"}]},{"id":"E","tasks":[{"id":"T5"}],"depends_on":["B"]}]}`

func TestNoGroupIsMergedWhoseLastVerdictWasNotAnApproval(t *testing.T) {
	if len(verdictForms) != 30 {
		t.Fatalf("%d forms", len(verdictForms))
	}
	const sessions = 500
	merges, refusals := 0, 0
	for seed := range sessions {
		m, r := verdictSession(t, uint64(seed))
		merges, refusals = merges+m, refusals+r
		if t.Failed() {
			t.Fatalf("in session %d", seed)
		}
	}
	t.Logf("%d sessions, %d merges, %d answers that were not taken", sessions, merges, refusals)
	if merges < 3*sessions || refusals < 5*sessions {
		t.Errorf("%d merges and %d answers that were not taken in %d sessions: the test shows too little", merges, refusals, sessions)
	}
}

// verdictSession runs a session whose answers have random forms and words. It keeps track of each
// group's last verdict separately, and checks each step against that verdict.
func verdictSession(t *testing.T, seed uint64) (merges, refusals int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	s := New(Start{Session: "v4_x", Requirements: "do it", Developers: 4, Iterations: 200, Branch: "gaffer/v4_x/team"}, noon)
	now := noon
	type verdict struct {
		word  string // status word of the answer; "" if the verdict is unclear
		again bool   // the agent was asked to repeat its answer
	}
	last := map[string]verdict{} // last verdict, by group id
	words := map[Purpose][]string{
		Work: {"READY_FOR_QA", "READY_FOR_QA", "BLOCKED"}, Test: {"PASS", "PASS", "FAIL"},
		Review: {"APPROVED", "APPROVED", "CHANGES_REQUESTED"}, Unblock: {"UNBLOCKED"},
	}
	for range 5000 {
		for _, step := range s.Next() {
			v := last[step.Group]
			switch {
			case step.Purpose == Merge && v.word != "APPROVED":
				t.Errorf("%s begins after %q", step.ID, v.word)
			case step.Purpose == Review && step.Again == "" && v.word != "PASS" && v.word != "":
				t.Errorf("%s begins after %q", step.ID, v.word)
			case step.Again != "" && step.Group != "" && v.word != "":
				t.Errorf("%s asks again although %s was clear: %s", step.ID, v.word, step.Again)
			case step.Again == "" && step.Group != "" && v.word == "" && !v.again && step.Purpose != Split && s.status(step.Group) != "pending":
				t.Errorf("%s begins although the answer before was in doubt", step.ID)
			}
			if step.Purpose == Merge {
				merges++
			}
			if err := s.Begin(step, now); err != nil {
				t.Fatal(err)
			}
		}
		switch o, ended := s.Outcome(); {
		case o.Completed:
			return merges, refusals
		case ended:
			s.Resume(now)
			continue
		}
		step := s.schedule.running[rng.IntN(len(s.schedule.running))].Step
		now = now.Add(time.Second)
		e := Ending{At: now}
		switch step.Purpose {
		case Plan:
			e.Answer = fiveGroups
		case Split:
			e.Answer = goOn
		case Check:
			e.Answer = complete
			if s.groups.plan.phaseLeft() {
				e.Answer = goOn
			}
		case Merge:
			e.Answer = fmt.Sprintf(`{"outcome":%q}`, pick(rng, "merged", "merged", "merged", "conflict"))
		default:
			word := pick(rng, words[step.Purpose]...)
			answer, sure := pick(rng, verdictForms...).said(word, rng.IntN(4) == 0)
			if e.Answer = answer; !sure {
				word = ""
				refusals++
			}
			last[step.Group] = verdict{word, step.Again != ""}
		}
		if err := s.End(step.ID, e); err != nil {
			t.Fatal(err)
		}
	}
	t.Errorf("no end: %+v", s.groups.statuses())
	return merges, refusals
}

func (s *Session) status(group string) string { return string(s.groups.find(group).status.Status) }
