package team

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
	"gaffer/statefile/jsontree"
)

func TestAnswersAreReadByTheirForm(t *testing.T) {
	for text, want := range map[string]Word{
		`{"status":"PASS","summary":["8/8"]}`:                                                WordPass,
		"Done.\n```json\n{\"status\": \"READY_FOR_QA\", \"summary\": [\"a\", \"b\"]}\n```\n": WordReadyForQA,
		"```\n{\n  \"status\": \"APPROVED\",\n  \"summary\": [\n    \"fine\"\n  ]\n}\n```":   WordApproved,
		"**Status:** FAIL, 23 passed":                                                        WordFail,
		"**Status:** CHANGES_REQUESTED … not approved":                                       WordChangesRequested,
		"## Review: APPROVED\n\nAll good":                                                    WordApproved,
		"## Review: CHANGES_REQUESTED\nThis is not APPROVED":                                 WordChangesRequested,
		"**Status:** `PASS`":                                                                 WordPass,
		"**Status:** BLOCKED\r\nneeds a key":                                                 WordBlocked,
		"**Status:** PASS\n\n{\"status\":\"FAIL\",\"summary\":[]}":                           WordFail,
		"{\"status\":\"PASS\"}\nno wait\n{\"status\":\"FAIL\"}":                              WordFail,
		"{\"status\": \"FAIL\", \"tests\": [\n{\"status\": \"PASS\"}\n]}":                    WordFail,
		"{\"session_id\":\"x\",\"status\":\"running\"}\n**Status:** PASS":                    WordPass,
		"{ not json \"status\": \"PASS\" }\n**Status:** INCOMPLETE":                          WordIncomplete,
		"**Status:** NOT COMPLETE":                                                           "NOT",
		"```\n**Status:** PASS\n```\n**Status:** FAIL":                                       WordFail,
		"{\"status\":\"PASS\",\"summary\":[\"it said \\\"}\\\" {\"]}":                        WordPass,
		"Status: PASS":                   WordPass,
		"**Status**: PASS":               WordPass,
		"**Status:** Pass":               WordPass,
		"__Status__ = `pass`.":           WordPass,
		"- **Status:** ✅ PASS":           WordPass,
		"✅ PASS":                         WordPass,
		"**✅ pass**":                     WordPass,
		"❌ FAIL":                         WordFail,
		"### Review: APPROVED":           WordApproved,
		"## Review: Approved":            WordApproved,
		"1. Final verdict: approved":     WordApproved,
		"QA result: FLAKY":               WordFlaky,
		`{"status":"pass"}`:              WordPass,
		`{"STATUS":"Changes requested"}`: WordChangesRequested,
		`{"status":"PASS",}`:             WordPass,
		"{\"status\": \"FAIL\", \"tests\": [\n{\"status\": \"PASS\"},\n]}":      WordFail,
		`{"status":"✅ APPROVED"}`:                                               WordApproved,
		`{"status":"BAZINGA"}`:                                                  WordComplete,
		"**Status:** BAZINGA":                                                   WordComplete,
		"Status: NEEDS_CLARIFICATION":                                           WordNeedsClarification,
		"Status: PARTIAL":                                                       WordPartial,
		"Status: escalate_to_opus":                                              WordEscalate,
		"Status: DONE":                                                          "DONE",
		`{"status":"rejected"}`:                                                 "REJECTED",
		"{\"status\":\"APPROVED\"}\n\n**Status:** CHANGES_REQUESTED":            WordChangesRequested,
		"**Status:** PASS\n\n0 FAIL, and it fails no test that it passed":       WordPass,
		"{\"status\":\"APPROVED\"}\n\nStatus: APPROVED_WITH_NOTES":              WordApprovedWithNotes,
		"{\"status\":\"error\",\"code\":401} is what it sends.\n\nStatus: PASS": WordPass,
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
		"", "COMPLETE", "BAZINGA", "**APPROVED**", "I will not say COMPLETE yet", "The **Status:** PASS is wrong",
		"**Status:** PASS/FAIL", "**Status:** PASS | FAIL", "**Status:** PASS or FAIL", "> Status: PASS",
		"✅ PASS unit tests", "✅ Pass the token on", "Result: 23 of 23", "Review: I have read all of it", "Status code: 200",
		`{"result":"PASS"}`, `say {"status":"PASS"}`, `{"status":"PASS | FAIL"}`,
		"For example:\n\n```json\n{\"status\":\"PASS\"}\n```", "```text\n{\"status\":\"PASS\"}\n```",
		"```\n**Status:** PASS\n```", `[{"status":"PASS"}]`, "[\n  {\"status\": \"PASS\"}\n]", "[10:00] {\"status\": \"PASS\"}",
	} {
		got, err := ParseAnswer(text)
		var none *NoStatusError
		if !errors.As(err, &none) || got.Status != "" {
			t.Errorf("%q is %q (%v)", text, got.Status, err)
		}
	}
}

func TestAnAnswerWithAnUnclearLastVerdictHasNoStatus(t *testing.T) {
	const approved = "{\"status\":\"APPROVED\"}\n"
	for _, text := range []string{
		"**Status:**", "**Status:** not COMPLETE", "Status: pass through the gateway", "Status: complete rewrite needed",
		`{"status":null}`, `{"status":["PASS"]}`, `{"status":"PASS"`, `{'status': 'PASS'}`, `{"status":"PASS", oops}`,
		"Status: APPROVED pending the fix", "Status: PASS except e2e", "Status: APPROVED? No.", "Status: PASS (but slow)",
		`{"status":"APPROVED, but not yet"}`, "{\"status\":\"FAIL\"}\n{\"status\":\"PASS\"}",
		"Status: READY_FOR_QA\nStatus: READY_FOR_REVIEW", "❌ FAIL\n✅ PASS",
		approved + "{\"status\":\"nope, not yet\"}", approved + "{\"status\":null}", approved + "Status: hm, see above",
		approved + "This is _CHANGES_REQUESTED_.", approved + "I asked for changes: changes requested.",
		approved + "```\nStatus: CHANGES_REQUESTED\n```", approved + "> Status: CHANGES_REQUESTED",
		approved + "So: {\"status\":\"rejected\"}", approved + "{\n  x := '\"'\n  {\"status\":\"CHANGES_REQUESTED\"}",
		approved + "On second thought it is too slow.", approved + "It cannot be approved like this.", approved + "No, wait. Line 7!",
	} {
		got, err := ParseAnswer(text)
		var unclear *UnclearError
		if !errors.As(err, &unclear) || got.Status != "" {
			t.Errorf("%q is %q (%v)", text, got.Status, err)
		}
	}
}

// The name of each file in the folder says how its answer must be parsed: as a status word, as
// "unclear" or as "none".
func TestAnswersInIrregularFormsAreReadOrRefused(t *testing.T) {
	paths, err := filepath.Glob("testdata/answers/*.md")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d answers, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, _, _ := strings.Cut(filepath.Base(path), ".")
		answer, err := ParseAnswer(string(data))
		got := string(answer.Status)
		var unclear *UnclearError
		var none *NoStatusError
		switch {
		case errors.As(err, &unclear):
			got = "unclear"
		case errors.As(err, &none):
			got = "none"
		}
		if got != want {
			t.Errorf("%s is read as %q (%v)", path, got, err)
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

func TestVerdictsInsideMalformedJSONDoNotCount(t *testing.T) {
	for _, text := range []string{
		"{\"status\": \"FAIL\", \"tests\": [\n{\"status\": \"PASS\"}\n",
		"{\n  \"status\": \"FAIL\"\n  \"tests\": [\n\n    {\"status\": \"PASS\"}\n  ]\n}\n",
		"{\n  summary: 'two tests fail',\n  last_run: {\n    status: PASS\n  }\n}\n",
		"{\n  status: FAIL,\n  before: {\n    status: PASS\n  }\n}\n",
		"{\n\t\"summary\": \"two tests fail\"\n\t\"tests\": [\n\t\tstatus: PASS\n\t]\n}\n",
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
	a, err = ParseAnswer("{\"status\":\"PASS\",\"n\":1}\n{\"status\":\"FAIL\",\"n\":2}")
	if n, _ := a.Body.Get("n").Int(); err != nil || n != 2 {
		t.Errorf("%q %v", a.Body.Raw(), err)
	}
	a, err = ParseAnswer("{\"groups\":[]}\n**Status:** FAIL")
	if err != nil || a.Body.Kind() != jsontree.Missing {
		t.Errorf("%q %v", a.Body.Raw(), err)
	}
}

func TestAHugeAnswerIsReadInTime(t *testing.T) {
	const verdict = "\n{\"status\":\"CHANGES_REQUESTED\"}\n"
	for part, want := range map[string]Word{
		"{\"a\":\n": "", "[\n": "", "{\n": WordChangesRequested, "{} [\n": WordChangesRequested,
		"{\"status\":\"PASS\"\n": WordChangesRequested, "```\n": WordChangesRequested, "**Status:** ": WordChangesRequested,
		"{\"a\":[1,],x\n": WordChangesRequested, "{\"a\":[1,\n": "", "Status: FAIL\n": WordChangesRequested, "{\"status\":\"PASS\",}\n": WordChangesRequested,
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			text := strings.Repeat(part, 1<<18/len(part))
			got, err := ParseAnswer(text + verdict)
			if got.Status != want || (err == nil) != (want != "") {
				t.Errorf("many %q and a verdict are %q (%v), want %q", part, got.Status, err, want)
			}
			if got, _ := ParseAnswer("{\"status\":\"APPROVED\"}\n" + text + "CHANGES_REQUESTED"); got.Status == WordApproved {
				t.Errorf("an approval, many %q and its opposite are an approval", part)
			}
		}()
		select {
		case <-done:
		case <-time.After(testenv.Patience):
			t.Fatalf("many %q are not read after %s", part, testenv.Patience)
		}
	}
}
