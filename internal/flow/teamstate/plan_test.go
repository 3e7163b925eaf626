package teamstate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

func TestALongRequirementIsCutInTime(t *testing.T) {
	start := time.Now()
	items := Items("- one\n- two\n" + strings.Repeat(strings.Repeat("x", 100)+"\n", 200_000))
	if took := time.Since(start); len(items) != 2 || took > 20*time.Second {
		t.Errorf("%d items in %s", len(items), took)
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

func TestTheScopeIsReducedOnlyWithTheUsersConsent(t *testing.T) {
	p := newPlay(t, Start{Requirements: "- one\n- two"}, script{
		"pm-1": `{"status":"PLANNED","mode":"simple","groups":[{"id":"A","tasks":[{"id":"T1","requirements":["R1"]}]}],"out_of_scope":[{"requirement":"R2","reason":"no time"}]}`,
	})
	p.stops("the plan leaves out what was asked for: R2: no time", "pm-1")
	p.session.Resume(p.now)
	p.completes("pm-1 main-developer-1 main-qa-1 main-tech-lead-1 main-merge-1 pm-2")
	p.expectLog("reduce_scope", "the user agrees: R2: no time")
}

func TestTheProjectManagerCannotReduceTheScopeAtTheEnd(t *testing.T) {
	p := newPlay(t, Start{}, script{"pm-2": `{"status":"COMPLETE","out_of_scope":[{"requirement":"R1","reason":"too hard"}]}`})
	p.completes("pm-1 A-developer-1 A-qa-1 A-tech-lead-1 A-merge-1 pm-2 pm-3")
	p.expectLog("refuse_answer", `leaves out "R1", which the user has not agreed to`)
}

func TestAPlanThatCannotBeExecutedIsRefusedWithTheReason(t *testing.T) {
	g := func(id, more string) string { return fmt.Sprintf(`{"id":%q,"tasks":[{"id":"T-%s"}]%s}`, id, id, more) }
	parallel := func(more string, groups ...string) string {
		return fmt.Sprintf(`{"mode":"parallel","groups":[%s]%s}`, strings.Join(groups, ","), more)
	}
	for body, want := range map[string]string{
		`[]`:                  "it has no plan",
		`{"mode":"fast"}`:     `mode is "fast"`,
		`{"mode":"parallel"}`: "it has no groups",
		`{"mode":"simple","groups":[` + g("A", "") + "," + g("B", "") + `]}`:                 "simple mode has one group, this has 2",
		parallel("", g("A", ""), g("A", "")):                                                 "group A is listed twice",
		parallel("", g("A/B", "")):                                                           "has a slash",
		parallel("", g("..", "")):                                                            "starts with a dot",
		parallel("", g("a b", "")):                                                           "other characters",
		parallel("", g("a.lock", "")):                                                        "a branch's name",
		parallel("", g(strings.Repeat("a", 65), "")):                                         "more than the 64",
		parallel("", `{"id":"A"}`):                                                           "group A has no tasks",
		parallel("", `{"id":"A","tasks":["T1"]}`):                                            `task "T1", which is not planned`,
		parallel(`,"tasks":[{"id":"T1"}]`, g("A", ""), g("B", "")):                           "task T1 is in no group",
		parallel(`,"tasks":[{"id":"T1","group_id":"B"}]`, `{"id":"A","tasks":["T1"]}`):       "in group A and in group",
		parallel("", g("A", `,"depends_on":["A"]`)):                                          `depends on "A", which is not another`,
		parallel("", g("A", `,"depends_on":["X"]`)):                                          `depends on "X", which is not another`,
		parallel("", g("A", `,"depends_on":["B"]`), g("B", `,"depends_on":["A"]`)):           "groups A, B depend on each other",
		parallel(`,"phases":[{"phase_number":1,"group_ids":["A"]}]`, g("A", ""), g("B", "")): "group B is in no phase",
		parallel(`,"phases":[{"phase_number":1,"group_ids":["A","A"]}]`, g("A", "")):         "is listed twice",
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

func TestASplitThatLosesATaskIsRefused(t *testing.T) {
	p := plan{
		mode:  team.Parallel,
		tasks: []team.Task{{ID: "T1", GroupID: "A"}, {ID: "T2", GroupID: "A"}, {ID: "T3", GroupID: "B"}},
		groups: []team.TaskGroup{
			{ID: "A", Tasks: []string{"T1", "T2"}}, {ID: "B", Tasks: []string{"T3"}},
		},
		phases: []phase{{groups: []string{"A", "B"}}},
	}
	for body, want := range map[string]string{
		`{"groups":[{"id":"A","tasks":["T1"]},{"id":"A2","tasks":["T9"]}]}`:                                        "task T2 of group A is in none of the groups",
		`{"groups":[{"id":"X","tasks":["T1"]},{"id":"A2","tasks":["T2"]}]}`:                                        "one of the groups must still be called A",
		`{"groups":[{"id":"A","tasks":["T1","T2"]}]}`:                                                              "group A is not split",
		`{"groups":[{"id":"A","tasks":["T1"]},{"id":"B","tasks":["T2"]}]}`:                                         "group B already exists",
		`{"groups":[{"id":"A","tasks":["T1"]},{"id":"A2","tasks":["T2","T3"]}]}`:                                   `task "T3", which is not planned, or another group's`,
		`{"groups":[{"id":"A","tasks":["T1"],"depends_on":["A2"]},{"id":"A2","tasks":["T2"],"depends_on":["A"]}]}`: "in a circle",
		`{"tasks":[{"id":"T3"}],"groups":[{"id":"A","tasks":["T1"]},{"id":"A2","tasks":["T2","T3"]}]}`:             "task T3 already exists",
	} {
		_, err := p.split("A", parse(t, body))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
