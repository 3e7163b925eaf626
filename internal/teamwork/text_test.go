package teamwork

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gaffer/statefile/jsontree"
	"gaffer/team"
)

func parse(t testing.TB, text string) jsontree.Value {
	t.Helper()
	doc, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return doc.Value()
}

func TestRequirementsAreCutAtTheItemsOfTheirList(t *testing.T) {
	for text, want := range map[string][]string{
		"Build a login.":                             {"Build a login."},
		"- only one":                                 {"- only one"},
		"Do:\n- one\n- two\n":                        {"one", "two"},
		"1. one\n2) two\n10. ten":                    {"one", "two", "ten"},
		"* [ ] one\n* [x] two":                       {"one", "two"},
		"[ ] one\n[ ] two":                           {"one", "two"},
		"- one\n  - part\n  and more\n\n- two\nwrap": {"one\n- part\nand more", "two\nwrap"},
		"- one\n\nProse.\n\n- two":                   {"one", "two"},
		"-not a list\n-5 degrees":                    {"-not a list\n-5 degrees"},
	} {
		var got []string
		for i, item := range Items(text) {
			if item.ID != fmt.Sprintf("R%d", i+1) {
				t.Errorf("%q: %s", text, item.ID)
			}
			got = append(got, item.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestEveryRequirementIsInATaskOrLeftOutForAReason(t *testing.T) {
	items := Items("- one\n- two")
	plan := func(requirements, out string) string {
		return fmt.Sprintf(`{"mode":"simple","groups":[{"id":"A","tasks":[{"id":"T1","requirements":%s}]}],"out_of_scope":%s}`, requirements, out)
	}
	for body, want := range map[string]string{
		plan(`["R1","r2"]`, `[]`):                                    "",
		plan(`["R1"]`, `[{"requirement":"R2","reason":"too dear"}]`): "",
		plan(`["R1"]`, `[{"requirement":"R2","reason":" "}]`):        "out of scope for no reason",
		plan(`"R1"`, `[]`):                                           "no task names R2",
		plan(`[]`, `[]`):                                             "no task names R1, R2",
	} {
		_, dropped, err := readPlan(parse(t, body), team.Unplanned, items)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", body, err)
		}
		if strings.Contains(body, "dear") && (len(dropped) != 1 || dropped[0] != "R2: too dear") {
			t.Errorf("%s: %v", body, dropped)
		}
	}
}

func TestLessThanWhatWasAskedForIsLogged(t *testing.T) {
	p := newPlay(t, Start{Requirements: "- one\n- two"}, script{
		"pm-1": `{"status":"PLANNED","mode":"simple","groups":[{"id":"A","tasks":[{"id":"T1","requirements":["R1"]}]}],"out_of_scope":[{"requirement":"R2","reason":"no time"}]}`,
	})
	if o := p.run(); !o.Completed {
		t.Fatal(o)
	}
	p.expectLog("reduce_scope", "R2: no time")
}

func TestAPlanThatCannotBeCarriedOutIsRefusedWithTheReason(t *testing.T) {
	g := func(id, more string) string { return fmt.Sprintf(`{"id":%q,"tasks":[{"id":"T-%s"}]%s}`, id, id, more) }
	parallel := func(more string, groups ...string) string {
		return fmt.Sprintf(`{"mode":"parallel","groups":[%s]%s}`, strings.Join(groups, ","), more)
	}
	for body, want := range map[string]string{
		`[]`:                  "it has no plan",
		`{"mode":"fast"}`:     `mode is "fast"`,
		`{"mode":"parallel"}`: "it has no groups",
		`{"mode":"simple","groups":[` + g("A", "") + "," + g("B", "") + `]}`:                 "simple mode has one group, this has 2",
		parallel("", g("A", ""), g("A", "")):                                                 "group A stands twice",
		parallel("", g("A/B", "")):                                                           "has a slash",
		parallel("", g("..", "")):                                                            "starts with a dot",
		parallel("", g("a b", "")):                                                           "other characters",
		parallel("", g("a.lock", "")):                                                        "a branch's name",
		parallel("", g(strings.Repeat("a", 65), "")):                                         "more than the 64",
		parallel("", `{"id":"A"}`):                                                           "group A has no tasks",
		parallel("", `{"id":"A","tasks":["T1"]}`):                                            `task "T1", which is not planned`,
		parallel(`,"tasks":[{"id":"T1"}]`, g("A", ""), g("B", "")):                           "task T1 is in no group",
		parallel(`,"tasks":[{"id":"T1","group_id":"B"}]`, `{"id":"A","tasks":["T1"]}`):       "in group A and in group",
		parallel("", g("A", `,"depends_on":["A"]`)):                                          `depends on "A", which is no other`,
		parallel("", g("A", `,"depends_on":["X"]`)):                                          `depends on "X", which is no other`,
		parallel("", g("A", `,"depends_on":["B"]`), g("B", `,"depends_on":["A"]`)):           "groups A, B depend on each other",
		parallel(`,"phases":[{"phase_number":1,"group_ids":["A"]}]`, g("A", ""), g("B", "")): "group B is in no phase",
		parallel(`,"phases":[{"phase_number":1,"group_ids":["A","A"]}]`, g("A", "")):         "stands twice",
		parallel(`,"phases":[{"phase_number":1,"group_ids":["A"]},{"phase_number":2,"group_ids":["B"]}]`, g("A", `,"depends_on":["B"]`), g("B", "")): "which opens later",
		parallel(`,"phases":[{"phase_number":1,"group_ids":["A","B","C","D","E"]}]`, g("A", ""), g("B", ""), g("C", ""), g("D", ""), g("E", "")):     "it must have 1 to 4",
	} {
		_, _, err := readPlan(parse(t, body), team.Unplanned, Items("all"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

func TestMissingPhasesAreMadeByDependencyAndAtMostFourWide(t *testing.T) {
	var groups []string
	for i := range 6 {
		groups = append(groups, fmt.Sprintf(`{"id":"G%d","tasks":[{"id":"T%d"}]}`, i, i))
	}
	groups = append(groups, `{"id":"Z","tasks":[{"id":"T9"}],"depends_on":["G0","G5"]}`)
	p, _, err := readPlan(parse(t, `{"mode":"parallel","groups":[`+strings.Join(groups, ",")+`]}`), team.Unplanned, Items("all"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ph := range p.phases {
		got = append(got, strings.Join(ph.groups, " "))
	}
	if strings.Join(got, " | ") != "G0 G1 G2 G3 | G4 G5 | Z" {
		t.Error(got)
	}
}

func TestEveryGroupHasABranchOfItsOwnBesideTheSessions(t *testing.T) {
	s := New(Start{Branch: "gaffer/v4/team"}, noon)
	seen := map[string]bool{"gaffer/v4/team": true}
	for _, id := range []string{"A", "team", "team-group", "team-group-group", "teams", "main"} {
		b := s.Branch(id)
		if seen[b] || !strings.HasPrefix(b, "gaffer/v4/") {
			t.Errorf("%s has branch %s", id, b)
		}
		seen[b] = true
	}
	if got := New(Start{Branch: "work"}, noon).Branch("A"); got != "A" {
		t.Error(got)
	}
}

func TestWhatAgentsSayIsCutAtARune(t *testing.T) {
	for _, s := range []string{"", "abc", strings.Repeat("é", maxText), strings.Repeat("\xff", 3*maxText), strings.Repeat("漢", maxText)} {
		got := clip(s, maxText)
		if len(got) > maxText || !utf8.ValidString(got) || len(s) > maxText && utf8.ValidString(s) && !strings.HasSuffix(got, "…") {
			t.Errorf("%d bytes became %d", len(s), len(got))
		}
	}
	if got := newest([]string{strings.Repeat("old ", 4000), "new", strings.Repeat("x", 600)}); !strings.HasPrefix(got, "new\n\nx") {
		t.Errorf("%.20q", got)
	}
	if got := newest([]string{"old", strings.Repeat("x", 2*maxText)}); len(got) != maxText {
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
	w := World{Changes: map[string]Change{"A": {Files: slices.Repeat([]string{strings.Repeat("\xff", 9000)}, 500)}}}
	documents, err := marshalled(p.session.Picture(w))
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

func TestCountsOfTestsAreReadFromNumbersAndFromText(t *testing.T) {
	for text, want := range map[string]team.TestCount{
		`{"total":12,"passed":11,"failed":1}`: {Total: 12, Passed: 11, Failed: 1},
		`"8/8 passed"`:                        {Total: 8, Passed: 8},
		`"7 / 9"`:                             {Total: 9, Passed: 7, Failed: 2},
		`"12 passed, 1 failed"`:               {Total: 13, Passed: 12, Failed: 1},
	} {
		if got, ok := count(parse(t, text)); !ok || got != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
	for _, text := range []string{`"all fine"`, `"9/7"`, `{}`, `7`, `null`, `{"total":"x"}`} {
		if got, ok := count(parse(t, text)); ok {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestMessagesOfOneSecondHaveIDsOfTheirOwn(t *testing.T) {
	s := New(Start{}, noon)
	g := newGroup("A", 9)
	for range 3 {
		s.sendHandoff(g, team.Answer{})
	}
	s.updated = noon.Add(time.Second)
	s.sendHandoff(g, team.Answer{})
	var ids []string
	for _, m := range s.messages {
		ids = append(ids, m.ID)
	}
	if got := strings.Join(ids, " "); got != "msg_20250106_120000 msg_20250106_120000_2 msg_20250106_120000_3 msg_20250106_120001" {
		t.Error(got)
	}
}

func TestAMessageIsReadWhenItsReceiverIsStarted(t *testing.T) {
	p := newPlay(t, Start{}, script{})
	w := World{Changes: map[string]Change{"A": {Files: []string{"a.go"}, Commits: []string{"abc - a"}}}}
	for p.session.group("A") == nil || p.status("A").Status != team.WaitingQA {
		p.begin(p.session.Next()[0])
		p.end(p.session.running[0].Step)
	}
	m := p.session.Picture(w).Messages[0]
	if h := m.Body.(*team.Handoff); m.Read || h.Context.FilesModified[0] != "a.go" || h.Context.BranchName != "gaffer/v4_x/A" {
		t.Errorf("%+v %+v", m, h)
	}
	p.begin(p.session.Next()[0])
	if !p.session.Picture(w).Messages[0].Read {
		t.Error("QA has begun and not read it")
	}
}

func TestTheTimeThatIsLeftFollowsFromWhatWasMeasured(t *testing.T) {
	s := New(Start{Developers: 2}, noon)
	if s.estimate() != nil {
		t.Error("nothing was measured")
	}
	s.plan.mode = team.Parallel
	s.spent[team.PM] = spent{1, time.Minute}
	s.spent[team.Developer] = spent{2, 8 * time.Minute}
	for _, status := range []team.GroupStatus{team.Pending, team.WaitingQA, team.TechReview, team.Complete} {
		g := newGroup(string(status), 9)
		g.status.Status = status
		s.groups = append(s.groups, g)
	}
	// a developer takes 4, everybody else the mean of all, 3: 4+3+3, 3+3, 3, by two
	if got := *s.estimate(); got != 9.5 {
		t.Error(got)
	}
}
