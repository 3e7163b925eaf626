package teamstate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWhatAgentsSayIsCutAtARune(t *testing.T) {
	for _, s := range []string{"", "abc", strings.Repeat("é", maxText), strings.Repeat("\xff", 3*maxText), strings.Repeat("漢", maxText)} {
		got := clip(s, maxText)
		if len(got) > maxText || !utf8.ValidString(got) || len(s) > maxText && utf8.ValidString(s) && !strings.HasSuffix(got, "…") {
			t.Errorf("%d bytes became %d", len(s), len(got))
		}
	}
	if got := joinNewest([]string{strings.Repeat("old ", 4000), "new", strings.Repeat("x", 600)}); !strings.HasPrefix(got, "new\n\nx") {
		t.Errorf("%.20q", got)
	}
	if got := joinNewest([]string{"old", strings.Repeat("x", 2*maxText)}); len(got) != maxText {
		t.Errorf("the newest has %d bytes", len(got))
	}
}

func TestHugeAndHostileAnswersLeaveDocumentsThatAreValid(t *testing.T) {
	huge := strings.Repeat(`\u0000\ud800 <script>`, 20000)
	list := "[" + strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("y", 3000)+`",`, 300), ",") + "]"
	p := newPlay(t, Start{Requirements: "do \xff it"}, script{
		"pm-1": fmt.Sprintf(`{"status":"PLANNED","mode":"parallel","mode_reasoning":"%[1]s","groups":[{"id":"A","name":"%[1]s","files_affected":%[2]s,
			"complexity":"%[1]s","estimated_effort_minutes":1e999,"tasks":[{"id":"T1","description":"%[1]s"}]}]}`, huge, list),
		"A-developer-1": fmt.Sprintf(`{"status":"READY_FOR_QA","summary":["%[1]s"],"unit_tests":{"total":1e400,"passed":-3,"failed":2.5}}`, huge),
		"A-qa-1":        fmt.Sprintf(`{"status":"PASS","summary":"%[1]s","test_results":{"e2e_tests":"%[1]s","contract_tests":{"total":99999999999999999999},"total_time":"%[1]s"}}`, huge),
		"A-tech-lead-1": fmt.Sprintf(`{"status":"CHANGES_REQUESTED","feedback":"%[1]s","issues":[{"priority":"%[1]s","title":"%[1]s"},7,"text"],"actionable_items":%[2]s,
			"code_quality_score":-1e308,"security_issues_count":"many"}`, huge, list),
		"A-merge-1": `{"outcome":"tests_failed","output":"` + strings.Repeat("z", 1<<20) + `"}`,
	})
	if o := p.run(); !o.Completed {
		t.Fatal(o)
	}
	p.follows(strings.Join(p.trace, " "))
	w := Changes{"A": {Files: slices.Repeat([]string{strings.Repeat("\xff", 9000)}, 500)}}
	documents, err := marshalled(p.session.Contents(w))
	if err != nil {
		t.Fatal(err)
	}
	for d, data := range documents {
		if len(data) > 8<<20 {
			t.Errorf("%s has %d bytes", d, len(data))
		}
	}
	for id, b := range p.briefs {
		if size := len(fmt.Sprint(b)); size > 2<<20 {
			t.Errorf("the brief of %s has %d bytes", id, size)
		}
	}
}
