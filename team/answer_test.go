package team

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gaffer/internal/testenv"
	"gaffer/statefile/jsontree"
)

func TestAnswersAreReadByTheirForm(t *testing.T) {
	for text, want := range map[string]Word{
		`{"status":"PASS","summary":["8/8"]}`:                                                     WordPass,
		"Done.\n```json\n{\"status\": \"READY_FOR_QA\", \"summary\": [\"a\", \"b\"]}\n```\n":      WordReadyForQA,
		"```\n{\n  \"status\": \"APPROVED\",\n  \"summary\": [\n    \"fine\"\n  ]\n}\n```":        WordApproved,
		"**Status:** FAIL, 23 passed":                                                             WordFail,
		"**Status:** CHANGES_REQUESTED … not approved":                                            WordChangesRequested,
		"## Review: APPROVED\n\nAll good":                                                         WordApproved,
		"## Review: CHANGES_REQUESTED\nThis is not APPROVED":                                      WordChangesRequested,
		"**Status:** `PASS`":                                                                      WordPass,
		"**Status:** BLOCKED\r\nneeds a key":                                                      WordBlocked,
		"**Status:** PASS\n\n{\"status\":\"FAIL\",\"summary\":[]}":                                WordFail,
		"{\"status\":\"PASS\"}\nno wait\n{\"status\":\"FAIL\"}":                                   WordFail,
		"{\"status\": \"FAIL\", \"tests\": [\n{\"status\": \"PASS\"}\n]}":                         WordFail,
		"{\"session_id\":\"x\",\"status\":\"running\"}\n**Status:** PASS":                         WordPass,
		"{ not json \"status\": \"PASS\" }\n**Status:** INCOMPLETE":                               WordIncomplete,
		"**Status:** NOT COMPLETE":                                                                "NOT",
		"```\n**Status:** PASS\n```\n**Status:** FAIL":                                            WordFail,
		"{\"status\":\"PASS\",\"summary\":[\"it said \\\"}\\\" {\"]}":                             WordPass,
		"Result:\n\n{\"status\":\"FLAKY\",\"summary\":\"one line\"}\n\n**Status:** PASS | FAIL\n": WordFlaky,
	} {
		got, err := ParseAnswer(text)
		if err != nil || got.Status != want {
			t.Errorf("%q is %q (%v), want %q", text, got.Status, err, want)
		}
	}
}

func TestAWordInRunningTextIsNoStatus(t *testing.T) {
	for _, text := range []string{
		"", "COMPLETE", "I will not say COMPLETE yet", "Status: PASS", "The **Status:** PASS is wrong",
		"**Status:** not COMPLETE", "**Status:** PASS/FAIL", "**Status:** PASS | FAIL", "**Status:** PASS or FAIL",
		"**Status:**", "**Status:** Pass", "### Review: APPROVED", "## Review: Approved",
		`{"status":"pass"}`, `{"status":null}`, `{"status":["PASS"]}`, `{"result":"PASS"}`, `say {"status":"PASS"}`,
		"```\n**Status:** PASS\n```", `{"status":"PASS"`, `[{"status":"PASS"}]`, "[\n  {\"status\": \"PASS\"}\n]", "[10:00] {\"status\": \"PASS\"}",
	} {
		got, err := ParseAnswer(text)
		var none *NoStatusError
		if !errors.As(err, &none) || got.Status != "" {
			t.Errorf("%q is %q (%v)", text, got.Status, err)
		}
	}
}

func TestAnExcerptThatIsNotJSONDoesNotHideTheLastWord(t *testing.T) {
	for _, before := range []string{
		"{\"status\":\"APPROVED\"}\nbut look at this:\n```c\nint quote(char c)\n{\n\treturn c == '\"';\n}\n```\n",
		"[ see note\n", strings.Repeat("[ open\n", 1000), "{\n", "{\n\n\tx := 'a\"'\n}\n", "[10:00] {\n",
	} {
		for _, after := range []string{"", "\n]\n", "\n}\n", "\r\nthat is all }"} {
			text := before + "{\"status\":\"CHANGES_REQUESTED\",\"summary\":[\"the closing } is not found\"]}" + after
			if a, err := ParseAnswer(text); err != nil || a.Status != WordChangesRequested {
				t.Errorf("%.80q is %q (%v)", text, a.Status, err)
			}
		}
	}
}

func TestWhatIsInsideAnAnswerWithASlipIsNoAnswer(t *testing.T) {
	for _, text := range []string{
		"{\"status\": \"FAIL\", \"tests\": [\n{\"status\": \"PASS\"},\n]}",
		"{\"status\": \"FAIL\", \"tests\": [\n{\"status\": \"PASS\"}\n",
		"{\n  \"status\": \"FAIL\"\n  \"tests\": [\n\n    {\"status\": \"PASS\"}\n  ]\n}\n",
	} {
		if a, err := ParseAnswer(text); err == nil {
			t.Errorf("%q is %q", text, a.Status)
		}
	}
}

func TestTheSummaryComesWithTheAnswer(t *testing.T) {
	a, err := ParseAnswer(`{"status":"PASS","summary":["unit 12/12","e2e 3/3", 7]}`)
	if err != nil || a.Text() != "unit 12/12\ne2e 3/3\n7" {
		t.Errorf("%q %v", a.Text(), err)
	}
	if a, _ := ParseAnswer("**Status:** FAIL, 23 passed"); a.Text() != "23 passed" {
		t.Errorf("%q", a.Text())
	}
}

func TestTheWholeObjectComesWithTheAnswerAndAStatusLineHasNone(t *testing.T) {
	a, err := ParseAnswer("Planned.\n```json\n{\"status\": \"PLANNED\", \"groups\": [{\"id\": \"A\", \"tasks\": [\"T1\"]}]}\n```\n")
	if err != nil || string(a.Body.Get("groups").Raw()) != `[{"id": "A", "tasks": ["T1"]}]` {
		t.Errorf("%q %v", a.Body.Raw(), err)
	}
	a, err = ParseAnswer("{\"status\":\"FAIL\",\"n\":1}\n{\"status\":\"PASS\",\"n\":2}")
	if n, _ := a.Body.Get("n").Int(); err != nil || n != 2 {
		t.Errorf("%q %v", a.Body.Raw(), err)
	}
	a, err = ParseAnswer("{\"groups\":[]}\n**Status:** FAIL")
	if err != nil || a.Body.Kind() != jsontree.Missing {
		t.Errorf("%q %v", a.Body.Raw(), err)
	}
}

func TestAHugeAnswerIsReadInTime(t *testing.T) {
	for _, part := range []string{"{\"a\":\n", "{\n", "[\n", "{} [\n", "{\"status\":\"PASS\"\n", "```\n", "**Status:** "} {
		start := time.Now()
		a, err := ParseAnswer(strings.Repeat(part, 1<<20/len(part)))
		if err == nil || a.Status != "" {
			t.Errorf("%q over and over is read as %q, %v", part, a.Status, err)
		}
		if took := time.Since(start); took > testenv.Patience {
			t.Errorf("%q over and over takes %s", part, took)
		}
	}
}
