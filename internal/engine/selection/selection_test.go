package selection

import (
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/plan"
)

func step(by plan.PickBy, verdict string) PickInput {
	return PickInput{Task: "api", By: by, Verdict: verdict, Candidates: []fleet.Candidate{
		{Task: "api.claude", Status: fleet.Complete, Checks: 2, Passed: 1, Added: 1},
		{Task: "api.codex", Status: fleet.Complete, Checks: 2, Passed: 2, Added: 9, Removed: 1, Spent: fleet.Cost{USD: 2}},
		{Task: "api.gemini", Status: fleet.Failed, Outcome: "crashed"},
		{Task: "api.claude-opus", Status: fleet.Complete, Branch: "gaffer/r/api.claude-opus", Checks: 2, Passed: 2, Added: 10, Spent: fleet.Cost{USD: 1}},
	}}
}

func TestChecksDecideThenLinesThenCost(t *testing.T) {
	t.Parallel()
	s := step(plan.PickChecks, "")
	if id, _, ok := s.Decide(); id != "api.claude-opus" || !ok {
		t.Errorf("picked %s, which is as small but more expensive, or fails a check", id)
	}
	s.Candidates[1].Added = 8
	if id, _, _ := s.Decide(); id != "api.codex" {
		t.Errorf("picked %s, which is larger", id)
	}
	s.Candidates = s.Candidates[2:]
	if id, why, ok := s.Decide(); id != "api.claude-opus" || !strings.Contains(why, "no other") || !ok {
		t.Errorf("picked %q because %q of the only complete one", id, why)
	}
	if _, _, ok := step(plan.PickUser, "").Decide(); ok {
		t.Error("the user was not asked")
	}
}

func TestAJudgeNamesAWinnerInManyForms(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[string]string{
		"It is small.\nwinner: api.codex":                                     "api.codex",
		"**Winner:** `api.codex`.":                                            "api.codex",
		"winner: api.claude\nOr rather:\nWINNER = gaffer/r/api.claude-opus\n": "api.claude-opus",
		"- winner: \"api.claude\"":                                            "api.claude",
		"winner: api.gemini":                                                  "", // api.gemini has failed, so it cannot win
		"winner: somebody":                                                    "",
		"The winner is api.codex":                                             "",
		"":                                                                    "",
	} {
		id, _, ok := step(plan.PickJudge, verdict).Decide()
		if id != want || ok != (want != "") {
			t.Errorf("%q names %q, want %q", verdict, id, want)
		}
	}
}

func TestTheUserNamesACandidate(t *testing.T) {
	t.Parallel()
	s := step(plan.PickUser, "")
	for text, want := range map[string]string{"api.codex": "api.codex", " codex ": "api.codex", "3": "api.claude-opus", "gemini": "", "4": "", "": ""} {
		if got, err := s.FindChosen(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	if q := s.Question(); !strings.Contains(q, "2 api.codex (2 of 2 checks passed, +9 -1") || strings.Contains(q, "gemini") || strings.Contains(q, "\n") {
		t.Errorf("the question is %s", q)
	}
}

func TestTheQuestionIsShownWithALineForEachCandidate(t *testing.T) {
	t.Parallel()
	s := step(plan.PickUser, "")
	text, options := s.Readable(`"x" is no candidate. ` + s.Question())
	want := `"x" is no candidate. Which candidate of api is taken?
api.claude: 1 of 2 checks passed, +1 -0 in 0 files, 0s
api.codex: 2 of 2 checks passed, +9 -1 in 0 files, $2.00, 0s
api.claude-opus: 2 of 2 checks passed, +10 -0 in 0 files, $1.00, 0s`
	if text != want || strings.Join(options, " ") != "api.claude api.codex api.claude-opus" {
		t.Errorf("the text is\n%s\nand the options are %q", text, options)
	}
	for _, option := range options {
		if id, err := s.FindChosen(option); err != nil || id != option {
			t.Errorf("the option %s chooses %q, %v", option, id, err)
		}
	}
	if text, options := s.Readable("Another question?"); text != "Another question?" || options != nil {
		t.Errorf("another question is shown as %q with %q", text, options)
	}
}
