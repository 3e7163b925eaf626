package teamstate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/team"
)

const (
	simplePlan = `{"status":"PLANNED","mode":"simple","mode_reasoning":"one thing",
		"tasks":[{"id":"T1","description":"do it"}],"groups":[{"id":"G","name":"The thing","tasks":["T1"]}]}`
	// C depends on A, so the plan puts C into the second phase.
	threeGroups = `{"status":"PLANNED","mode":"parallel","groups":[
		{"id":"A","name":"First","tasks":[{"id":"T1","description":"a"},{"id":"T2","description":"b"}]},
		{"id":"B","tasks":[{"id":"T3","description":"c"}]},
		{"id":"C","tasks":[{"id":"T4","description":"d"}],"depends_on":["A"]}]}`
	oneGroup = `{"status":"PLANNED","mode":"parallel","groups":[{"id":"A","tasks":[{"id":"T1"},{"id":"T2"}]}]}`
	goOn     = `{"status":"CONTINUE"}`
	complete = `{"status":"COMPLETE"}`
)

// script maps the ids of steps to their answers. A step that is not in it gets an answer with which
// the work advances. If the text is a failure class, the agent ends with that failure.
type script map[string]string

// play is a session that follows a script. All next steps are started at once. They end in the
// order of their start, ten seconds apart.
type play struct {
	t       *testing.T
	session *Session
	script  script
	now     time.Time
	trace   []string
	briefs  map[string]Brief
}

func newPlay(t *testing.T, start Start, s script) *play {
	t.Helper()
	if start.Requirements == "" {
		start.Requirements = "do it"
	}
	start.Session, start.Branch = "v4_x", "gaffer/v4_x/team"
	if start.Developers == 0 {
		start.Developers = 4
	}
	p := &play{t: t, script: s, now: noon, briefs: map[string]Brief{}}
	p.session = New(start, p.now)
	return p
}

// run continues until the session ends, and returns its outcome.
func (p *play) run() Outcome {
	p.t.Helper()
	for range 500 {
		for _, step := range p.session.Next() {
			p.begin(step)
		}
		if o, ended := p.session.Outcome(); ended {
			return o
		}
		if len(p.session.schedule.running) == 0 {
			p.t.Fatalf("nothing runs after %v", p.trace)
		}
		p.end(p.session.schedule.running[0].Step)
	}
	p.t.Fatalf("no end: %v", p.trace)
	return Outcome{}
}

func (p *play) begin(step Step) {
	p.t.Helper()
	p.briefs[step.ID] = p.session.Brief(step, nil)
	if err := p.session.Begin(step, p.now); err != nil {
		p.t.Fatal(err)
	}
	p.trace = append(p.trace, step.ID)
}

func (p *play) end(step Step) {
	p.t.Helper()
	p.now = p.now.Add(10 * time.Second)
	e := Ending{At: p.now, Answer: p.answer(step)}
	if c := failure.Class(e.Answer); c == failure.Auth || c == failure.Crashed || c == failure.Cancelled {
		e.Class, e.Answer, e.Reason = c, "", "as the script says"
	}
	if err := p.session.End(step.ID, e); err != nil {
		p.t.Fatal(err)
	}
}

func (p *play) answer(step Step) string {
	if a, ok := p.script[step.ID]; ok {
		return a
	}
	switch step.Purpose {
	case Check:
		if p.session.groups.plan.phaseLeft() {
			return goOn
		}
		return complete
	case Merge, Deliver:
		return `{"outcome":"merged","commit":"abc1234"}`
	}
	good := map[Purpose]string{
		Plan: oneGroup, Split: goOn, Work: word("READY_FOR_QA"), Test: word("PASS"), Review: word("APPROVED"), Unblock: word("UNBLOCKED"),
	}
	return good[step.Purpose]
}

func word(w string) string { return fmt.Sprintf(`{"status":%q,"summary":["it is %s"]}`, w, w) }

// follows compares the trace of the session with want, and checks the rules of the session.
func (p *play) follows(want string) {
	p.t.Helper()
	if got := strings.Join(p.trace, " "); got != strings.Join(strings.Fields(want), " ") {
		p.t.Errorf("the steps were\n%s\nwant\n%s", got, strings.Join(strings.Fields(want), " "))
	}
	documents, err := marshalled(p.session.Contents(nil))
	if err != nil {
		p.t.Fatal(err)
	}
	for d, data := range documents {
		for _, f := range team.ValidateDocument(d, string(d), data) {
			p.t.Error(f)
		}
	}
}

func (p *play) completes(want string) {
	p.t.Helper()
	if o := p.run(); !o.Completed {
		p.t.Errorf("ended with %+v", o)
	}
	p.follows(want)
}

// stops checks that the session ends with this problem, and that its trace is want.
func (p *play) stops(problem, want string) {
	p.t.Helper()
	if o := p.run(); o.Completed || !strings.Contains(o.Problem, problem) || o.Hint == "" {
		p.t.Errorf("ended with %+v, want %s", o, problem)
	}
	p.follows(want)
}

func (p *play) status(id string) team.Group { return p.session.groups.find(id).status }

// logged returns the entry for this decision in the log.
func (p *play) logged(decision string) string {
	for _, l := range p.session.history.log {
		if l.Decision == decision {
			return l.Reasoning
		}
	}
	return ""
}

func (p *play) expectLog(decision, reasoning string) {
	p.t.Helper()
	if got := p.logged(decision); got == "" || !strings.Contains(got, reasoning) {
		p.t.Errorf("%s is logged with %q, want %q", decision, got, reasoning)
	}
}

func TestASimpleSessionGoesThroughOneGroupCalledMain(t *testing.T) {
	p := newPlay(t, Start{}, script{"pm-1": simplePlan})
	p.completes("pm-1 main-developer-1 main-qa-1 main-tech-lead-1 main-merge-1 pm-2")
	pic := p.session.Contents(nil)
	if pic.PM.Mode != team.Simple || pic.PM.TaskGroups[0].ID != "main" || pic.PM.AllTasks[0].GroupID != "main" {
		t.Errorf("%+v", pic.PM)
	}
	if g := pic.Groups[0]; !g.QualityMetrics.FirstPassApproval || g.Iterations != (team.Iterations{Developer: 1, QA: 1, TechLead: 1}) {
		t.Errorf("%+v", g)
	}
	if pic.Orchestrator.TotalSpawns != 5 || len(pic.Messages) != 3 || *pic.PM.EstimatedRemaining != 0 {
		t.Errorf("%d starts, %d messages, %v minutes", pic.Orchestrator.TotalSpawns, len(pic.Messages), *pic.PM.EstimatedRemaining)
	}
}

func TestParallelGroupsWaitForWhatTheyDependOn(t *testing.T) {
	p := newPlay(t, Start{}, script{"pm-1": threeGroups})
	p.completes(`pm-1 A-developer-1 B-developer-1 A-qa-1 B-qa-1 A-tech-lead-1 B-tech-lead-1 A-merge-1 B-merge-1
		pm-2 C-developer-1 C-qa-1 C-tech-lead-1 C-merge-1 pm-3`)
	p.expectLog("open_phase_1", "A, B")
	p.expectLog("open_phase_2", "C")
	if b := p.briefs["C-developer-1"]; b.Group.BranchName != "gaffer/v4_x/C" || len(b.Tasks) != 1 || b.Tasks[0].ID != "T4" {
		t.Errorf("%+v", b)
	}
}

func TestWhatQAFailsGoesBackToTheDeveloperWithTheReason(t *testing.T) {
	p := newPlay(t, Start{}, script{
		"A-qa-1": `{"status":"FAIL","summary":"login is broken","test_results":{"e2e_tests":"1/3 passed"}}`,
		"A-qa-2": `{"status":"FAIL","summary":"logout is broken"}`,
		"A-qa-3": `{"status":"PASS","summary":"fine","test_results":{"integration_tests":{"total":8,"passed":8,"failed":0}}}`,
	})
	p.completes("pm-1 A-developer-1 A-qa-1 A-developer-2 A-qa-2 A-developer-3 A-qa-3 A-tech-lead-1 A-merge-1 pm-2")
	if f := p.briefs["A-developer-3"].Feedback; !strings.Contains(f, "logout is broken") || strings.Contains(f, "login") {
		t.Errorf("the third developer reads %q", f)
	}
	r := p.status("A").TestResults
	if *r.E2ETests != (team.TestCount{Total: 3, Passed: 1, Failed: 2}) || r.IntegrationTests.Passed != 8 {
		t.Errorf("%+v %+v", r.E2ETests, r.IntegrationTests)
	}
	if p.status("A").Iterations != (team.Iterations{Developer: 3, QA: 3, TechLead: 1}) {
		t.Errorf("%+v", p.status("A").Iterations)
	}
}

func TestRequestedChangesGoThroughEveryoneAgain(t *testing.T) {
	p := newPlay(t, Start{}, script{
		"A-tech-lead-1": `{"status":"CHANGES_REQUESTED","summary":"no","feedback":"limit the rate","issues":[{"priority":"high","title":"rate"}],
			"actionable_items":["add a limit"],"code_quality_score":4,"security_issues_count":1}`,
		"A-tech-lead-2": `{"status":"APPROVED","summary":"good","code_quality_score":9}`,
	})
	p.completes("pm-1 A-developer-1 A-qa-1 A-tech-lead-1 A-developer-2 A-qa-2 A-tech-lead-2 A-merge-1 pm-2")
	b := p.briefs["A-developer-2"]
	if !strings.Contains(b.Feedback, "limit the rate") || len(b.Messages) != 1 {
		t.Fatalf("%q %+v", b.Feedback, b.Messages)
	}
	if r := b.Messages[0].Body.(*team.Review); r.Issues[0].Priority != "high" || r.ActionableItems[0] != "add a limit" {
		t.Errorf("%+v", r)
	}
	g := p.status("A")
	if g.QualityMetrics.FirstPassApproval || *g.QualityMetrics.CodeQualityScore != 9 || g.TechLeadFeedback[0].Feedback != "limit the rate" {
		t.Errorf("%+v %+v", g.QualityMetrics, g.TechLeadFeedback)
	}
}

func TestABlockedDeveloperContinuesWithTheTechLeadsAdvice(t *testing.T) {
	p := newPlay(t, Start{}, script{
		"A-developer-1": `{"status":"BLOCKED","summary":"no database"}`,
		"A-tech-lead-1": `{"status":"UNBLOCKED","summary":"use SQLite"}`,
	})
	p.completes("pm-1 A-developer-1 A-tech-lead-1 A-developer-2 A-qa-1 A-tech-lead-2 A-merge-1 pm-2")
	g := p.status("A")
	if g.Iterations.TechLead != 1 || g.Blockers[0] != (team.Blocker{Description: "no database", Resolved: true, Resolution: "use SQLite"}) {
		t.Errorf("%+v %+v", g.Iterations, g.Blockers)
	}
	if b := p.briefs["A-tech-lead-1"]; b.Status.Blockers[0].Description != "no database" || b.Words[0] != team.WordUnblocked {
		t.Errorf("the tech lead gets %+v", b)
	}
	if b := p.briefs["A-developer-2"]; !strings.Contains(b.Guidance, "use SQLite") {
		t.Errorf("the developer gets %+v", b)
	}
}

func TestAWaitingUnblockedGroupIsNotInProgress(t *testing.T) {
	p := newPlay(t, Start{Developers: 1}, script{
		"pm-1": threeGroups, "A-developer-1": word("BLOCKED"), "A-tech-lead-1": word("UNBLOCKED"),
	})
	steps := func(n int) {
		for range n {
			for _, step := range p.session.Next() {
				p.begin(step)
			}
			p.end(p.session.schedule.running[len(p.session.schedule.running)-1].Step) // end the step that was started last
		}
	}
	steps(2) // start two steps: pm-1 and A-developer-1
	for _, step := range p.session.Next() {
		p.begin(step) // these are steps for the tech lead of A and for a developer of B
	}
	p.end(p.session.schedule.running[0].Step) // end the step of the tech lead
	if g := p.status("A"); g.Status != team.DevBlocked || g.CurrentAgent != team.None || g.Iterations.Developer != 1 {
		t.Errorf("it waits as %s with %s, %+v", g.Status, g.CurrentAgent, g.Iterations)
	}
	p.completes(`pm-1 A-developer-1 A-tech-lead-1 B-developer-1 B-qa-1 A-developer-2 B-tech-lead-1 A-qa-1 B-merge-1
		A-tech-lead-2 A-merge-1 pm-2 C-developer-1 C-qa-1 C-tech-lead-1 C-merge-1 pm-3`)
}

func TestBlockedQAIsHelpedAndTestsAgain(t *testing.T) {
	p := newPlay(t, Start{}, script{"A-qa-1": word("BLOCKED")})
	p.completes("pm-1 A-developer-1 A-qa-1 A-tech-lead-1 A-qa-2 A-tech-lead-2 A-merge-1 pm-2")
	b := p.briefs["A-qa-2"]
	if len(b.Messages) != 1 || !strings.Contains(b.Guidance, "it is UNBLOCKED") {
		t.Errorf("the second QA gets %+v %q", b.Messages, b.Guidance)
	}
}

func TestFlakyTestsGoToTheTechLeadAndTheDeveloper(t *testing.T) {
	p := newPlay(t, Start{}, script{"A-qa-1": `{"status":"FLAKY","summary":"once in three"}`})
	p.completes("pm-1 A-developer-1 A-qa-1 A-tech-lead-1 A-developer-2 A-qa-2 A-tech-lead-2 A-merge-1 pm-2")
	if m := p.briefs["A-tech-lead-1"].Messages; len(m) != 1 || m[0].Body.(*team.TestReport).Result != "FAIL" || !strings.Contains(m[0].Subject, "FLAKY") {
		t.Errorf("%+v", m)
	}
}

func TestWorkWithoutTestsGoesStraightToReview(t *testing.T) {
	p := newPlay(t, Start{}, script{"A-developer-1": word("READY_FOR_REVIEW")})
	p.completes("pm-1 A-developer-1 A-tech-lead-1 A-merge-1 pm-2")
	if b := p.briefs["A-tech-lead-1"]; b.Work != "it is READY_FOR_REVIEW" {
		t.Errorf("the tech lead reads %q", b.Work)
	}
}

func TestAConflictAndFailedTestsAfterTheMergeGoBackToTheDeveloper(t *testing.T) {
	p := newPlay(t, Start{}, script{
		"A-merge-1": `{"outcome":"conflict","conflicts":["a.go","b.go"]}`,
		"A-merge-2": `{"outcome":"tests_failed","test":"make test","output":"1 test failed"}`,
	})
	p.completes(`pm-1 A-developer-1 A-qa-1 A-tech-lead-1 A-merge-1 A-developer-2 A-qa-2 A-tech-lead-2 A-merge-2
		A-developer-3 A-qa-3 A-tech-lead-3 A-merge-3 pm-2`)
	if f := p.briefs["A-developer-2"].Feedback; !strings.Contains(f, "conflicts in a.go, b.go") {
		t.Errorf("after the conflict: %q", f)
	}
	if f := p.briefs["A-developer-3"].Feedback; !strings.Contains(f, "make test\n1 test failed") {
		t.Errorf("after the tests: %q", f)
	}
	p.expectLog("return_group_A", "conflicts in a.go")
	var decisions []string
	for _, f := range p.status("A").TechLeadFeedback {
		decisions = append(decisions, string(f.Decision))
	}
	if got := strings.Join(decisions, " "); got != "approved approved approved" {
		t.Errorf("the tech lead has approved three times, and its decisions are: %s", got)
	}
	for _, m := range p.session.mailbox.messages {
		if r, ok := m.Body.(*team.Review); ok && r.Decision != team.DecisionApproved {
			t.Errorf("in the tech lead's name goes %+v", r)
		}
	}
	if !p.status("A").QualityMetrics.FirstPassApproval {
		t.Error("the merge has changed that the first review approved")
	}
	if b := p.briefs["A-tech-lead-2"]; !strings.Contains(b.Unmerged, "conflicts in a.go") {
		t.Errorf("the second review does not learn why: %q", b.Unmerged)
	}
}

func TestAGroupIsNotCompleteBeforeItIsMerged(t *testing.T) {
	p := newPlay(t, Start{}, script{})
	for p.session.groups.find("A") == nil || p.session.groups.find("A").approved == nil {
		for _, step := range p.session.Next() {
			p.begin(step)
		}
		p.end(p.session.schedule.running[0].Step)
	}
	if g := p.status("A"); g.Status != team.TechReview || g.CurrentAgent != team.None {
		t.Errorf("approved, it is %s with %s", g.Status, g.CurrentAgent)
	}
}

const splitA = `{"status":"PLANNED","summary":"smaller","groups":[{"id":"A","tasks":["T1"]},{"id":"A2","name":"Rest","tasks":["T2"]}]}`

func TestAStuckDeveloperIsSplitByTheProjectManager(t *testing.T) {
	s := script{"pm-1": strings.Replace(threeGroups, `"groups":[`, `"phases":[{"phase_number":1,"group_ids":["A","B","C"]}],"groups":[`, 1), "pm-2": splitA}
	for i := range 6 {
		s[fmt.Sprintf("A-developer-%d", i+1)] = word("INCOMPLETE")
	}
	p := newPlay(t, Start{}, s)
	if o := p.run(); !o.Completed {
		t.Fatal(o)
	}
	p.expectLog("split_group_A", "A2")
	pic := p.session.Contents(nil)
	if g, _ := pic.Groups.Find("A"); g.Iterations.Developer != 7 || g.Status != team.Complete {
		t.Errorf("A: %+v", g)
	}
	if c := p.session.groups.plan.group("C"); strings.Join(c.DependsOn, " ") != "A A2" {
		t.Errorf("C depends on %v", c.DependsOn)
	}
	if b := p.briefs["pm-2"]; b.Status.Iterations.Developer != 6 || b.Step.Group != "A" || !strings.Contains(b.Step.Reason, "started 6 times") {
		t.Errorf("the project manager gets %+v", b.Step)
	}
	if ph := pic.PM.ExecutionPhases[0]; strings.Join(ph.GroupIDs, " ") != "A B C A2" || ph.Status != team.WorkComplete {
		t.Errorf("%+v", ph)
	}
	p.follows(strings.Join(p.trace, " "))
}

func TestQAThatFailsFourTimesIsHelpedByTheTechLead(t *testing.T) {
	s := script{}
	for i := range 4 {
		s[fmt.Sprintf("A-qa-%d", i+1)] = word("FAIL")
	}
	p := newPlay(t, Start{}, s)
	p.completes(`pm-1 A-developer-1 A-qa-1 A-developer-2 A-qa-2 A-developer-3 A-qa-3 A-developer-4 A-qa-4
		A-tech-lead-1 A-developer-5 A-qa-5 A-tech-lead-2 A-merge-1 pm-2`)
	p.expectLog("help_group_A", "qa_expert was started 4 times")
}

func TestAnEndlessReviewGoesToTheProjectManager(t *testing.T) {
	s := script{"pm-2": `{"status":"CONTINUE","summary":"be kinder"}`}
	for i := range 4 {
		s[fmt.Sprintf("A-tech-lead-%d", i+1)] = word("CHANGES_REQUESTED")
	}
	p := newPlay(t, Start{}, s)
	p.completes(`pm-1 A-developer-1 A-qa-1 A-tech-lead-1 A-developer-2 A-qa-2 A-tech-lead-2 A-developer-3 A-qa-3 A-tech-lead-3
		A-developer-4 A-qa-4 A-tech-lead-4 pm-2 A-developer-5 A-qa-5 A-tech-lead-5 A-merge-1 pm-3`)
	p.expectLog("help_group_A", "be kinder")
	if b := p.briefs["A-developer-5"]; !strings.Contains(b.Guidance, "be kinder") {
		t.Errorf("%q", b.Guidance)
	}
}

func TestAnEndlessReviewGoesToTheProjectManagerAfterTooManyDeveloperStarts(t *testing.T) {
	s := script{}
	for n := 1; n <= 5; n++ {
		s[fmt.Sprintf("A-qa-%d", n)] = word("FAIL")
	}
	for n := 2; n <= 5; n++ {
		s[fmt.Sprintf("A-tech-lead-%d", n)] = "failed"
	}
	p := newPlay(t, Start{}, s)
	p.completes(`pm-1 A-developer-1 A-qa-1 A-developer-2 A-qa-2 A-developer-3 A-qa-3 A-developer-4 A-qa-4 A-tech-lead-1 A-developer-5
		A-qa-5 A-developer-6 A-qa-6 A-tech-lead-2 A-tech-lead-3 A-tech-lead-4 A-tech-lead-5 pm-2 A-tech-lead-6 A-merge-1 pm-3`)
}

func TestAPrematureCompleteIsRefusedAndAnswered(t *testing.T) {
	p := newPlay(t, Start{}, script{"pm-1": threeGroups, "pm-2": complete})
	p.completes(`pm-1 A-developer-1 B-developer-1 A-qa-1 B-qa-1 A-tech-lead-1 B-tech-lead-1 A-merge-1 B-merge-1
		pm-2 pm-3 C-developer-1 C-qa-1 C-tech-lead-1 C-merge-1 pm-4`)
	p.expectLog("refuse_complete", "C is pending")
	if b := p.briefs["pm-3"]; !strings.Contains(b.Missing, "C is pending") || b.Step.Again != "" {
		t.Errorf("%+v", b)
	}
}

func TestTheThirdRefusalInARowGoesToTheUser(t *testing.T) {
	p := newPlay(t, Start{}, script{"pm-1": threeGroups, "pm-2": complete, "pm-3": complete, "pm-4": complete})
	p.stops("said COMPLETE 3 times", `pm-1 A-developer-1 B-developer-1 A-qa-1 B-qa-1 A-tech-lead-1 B-tech-lead-1 A-merge-1 B-merge-1 pm-2 pm-3 pm-4`)
	p.session.Resume(p.now)
	if o := p.run(); !o.Completed {
		t.Error(o)
	}
}

func TestAnUnreadableAnswerIsAskedForOnceMoreAndThenRouted(t *testing.T) {
	p := newPlay(t, Start{}, script{
		"pm-1": "a fine plan", "A-developer-1": "I am done", "A-developer-2": "really", "A-qa-1": word("APPROVED"),
	})
	p.completes(`pm-1 pm-2 A-developer-1 A-developer-2 A-tech-lead-1 A-developer-3 A-qa-1 A-qa-2 A-tech-lead-2 A-merge-1 pm-3`)
	g := p.status("A")
	if g.Iterations != (team.Iterations{Developer: 2, QA: 1, TechLead: 1}) {
		t.Errorf("what was asked again was counted: %+v", g.Iterations)
	}
	if !strings.Contains(g.Blockers[0].Description, "no answer that can be used") {
		t.Errorf("%+v", g.Blockers)
	}
	if b := p.briefs["A-qa-2"]; !strings.Contains(b.Step.Again, "its status is APPROVED; it must be PASS") || len(b.Messages) != 1 {
		t.Errorf("%+v", b)
	}
	p.expectLog("refuse_answer", "pm-1: the answer has no status")
}

func TestATechLeadThatGivesNoHelpStopsTheSession(t *testing.T) {
	p := newPlay(t, Start{}, script{
		"A-developer-1": word("BLOCKED"), "A-tech-lead-1": "hm", "A-tech-lead-2": "hm", "A-tech-lead-3": "hm", "A-tech-lead-4": "hm",
	})
	p.stops("group A waits for help, and A-tech-lead-4 gave none", "pm-1 A-developer-1 A-tech-lead-1 A-tech-lead-2 A-tech-lead-3 A-tech-lead-4")
	p.session.Resume(p.now)
	p.completes(`pm-1 A-developer-1 A-tech-lead-1 A-tech-lead-2 A-tech-lead-3 A-tech-lead-4 A-tech-lead-5 A-developer-2
		A-qa-1 A-tech-lead-6 A-merge-1 pm-2`)
}

func TestAProjectManagerWithoutAPlanStopsTheSession(t *testing.T) {
	p := newPlay(t, Start{Mode: team.Parallel}, script{"pm-1": simplePlan, "pm-2": simplePlan})
	p.stops("mode is simple, but parallel was asked for", "pm-1 pm-2")
	p.session.Resume(p.now)
	p.completes("pm-1 pm-2 pm-3 A-developer-1 A-qa-1 A-tech-lead-1 A-merge-1 pm-4")
}

func TestAFailureForTheUserStopsTheSessionAndIsRetriedAfterwards(t *testing.T) {
	p := newPlay(t, Start{}, script{"pm-1": threeGroups, "A-developer-1": string(failure.Auth), "B-qa-1": string(failure.Cancelled)})
	p.stops("developer (A-developer-1) ended with auth", "pm-1 A-developer-1 B-developer-1")
	if pic := p.session.Contents(nil); pic.Orchestrator.Status != team.SessionError || pic.Orchestrator.EndTime.IsZero() {
		t.Errorf("%+v", pic.Orchestrator)
	}
	p.session.Resume(p.now)
	p.stops("B-qa-1", "pm-1 A-developer-1 B-developer-1 B-qa-1 A-developer-2")
	p.session.Resume(p.now)
	p.completes(`pm-1 A-developer-1 B-developer-1 B-qa-1 A-developer-2 B-qa-2 A-qa-1 B-tech-lead-1 A-tech-lead-1 B-merge-1 A-merge-1
		pm-2 C-developer-1 C-qa-1 C-tech-lead-1 C-merge-1 pm-3`)
	if p.status("A").Iterations.Developer != 1 || p.status("B").Iterations.QA != 1 {
		t.Error("what was tried again was counted")
	}
	p.expectLog("resume", "auth")
}

func TestACrashedAgentGoesToTheTechLead(t *testing.T) {
	p := newPlay(t, Start{}, script{"A-developer-1": string(failure.Crashed), "A-qa-1": string(failure.Crashed), "A-tech-lead-3": string(failure.Crashed)})
	p.completes("pm-1 A-developer-1 A-tech-lead-1 A-developer-2 A-qa-1 A-tech-lead-2 A-qa-2 A-tech-lead-3 A-tech-lead-4 A-merge-1 pm-2")
	if b := p.status("A").Blockers; len(b) != 2 || !strings.Contains(b[0].Description, "as the script says") {
		t.Errorf("%+v", b)
	}
	p.expectLog("fail_tech_lead_group_A", "as the script says")
}

func TestAGroupThatNeedsTooManyAgentsStopsTheSession(t *testing.T) {
	p := newPlay(t, Start{Iterations: 4}, script{"A-qa-1": word("FAIL"), "A-qa-2": word("FAIL")})
	p.stops("group A is qa_failed after 4 starts", "pm-1 A-developer-1 A-qa-1 A-developer-2 A-qa-2")
	p.session.Resume(p.now)
	p.completes("pm-1 A-developer-1 A-qa-1 A-developer-2 A-qa-2 A-developer-3 A-qa-3 A-tech-lead-1 A-merge-1 pm-2")
}

func TestTheWorkIsDeliveredAtTheEnd(t *testing.T) {
	p := newPlay(t, Start{Into: "main"}, script{"deliver-1": `{"outcome":"conflict","conflicts":["a.go"]}`})
	p.stops("gaffer/v4_x/team cannot be merged into main: conflicts in a.go", "pm-1 A-developer-1 A-qa-1 A-tech-lead-1 A-merge-1 pm-2 deliver-1")
	if o, _ := p.session.Outcome(); !strings.Contains(o.Hint, "git switch main && git merge gaffer/v4_x/team") {
		t.Error(o.Hint)
	}
	p.session.Resume(p.now)
	p.completes("pm-1 A-developer-1 A-qa-1 A-tech-lead-1 A-merge-1 pm-2 deliver-1 deliver-2")
}

func TestTheProjectManagerMayAddGroupsButMustNotContinueWithoutAny(t *testing.T) {
	p := newPlay(t, Start{}, script{
		"pm-2": goOn, // CONTINUE although no group is left
		"pm-3": `{"status":"CONTINUE","groups":[{"id":"D","tasks":[{"id":"T9","description":"more"}],"depends_on":["A"]}]}`,
	})
	p.completes("pm-1 A-developer-1 A-qa-1 A-tech-lead-1 A-merge-1 pm-2 pm-3 D-developer-1 D-qa-1 D-tech-lead-1 D-merge-1 pm-4")
	p.expectLog("refuse_answer", "nothing to do")
	p.expectLog("open_phase_2", "D")
}

func TestGroupsAndTasksAsMapsAreReadAsTheListsTheyMean(t *testing.T) {
	p := newPlay(t, Start{}, script{
		"pm-1": `{"status":"PLANNED","mode":"parallel","tasks":{"T1":{"description":"a"}},"groups":{"A":{"tasks":["T1"]}}}`,
		"pm-2": `{"status":"CONTINUE","groups":{"D":{"tasks":{"T9":{"description":"what was forgotten"}}}}}`,
	})
	p.completes("pm-1 A-developer-1 A-qa-1 A-tech-lead-1 A-merge-1 pm-2 D-developer-1 D-qa-1 D-tech-lead-1 D-merge-1 pm-3")
	if tasks := p.session.groups.plan.tasksOf("D"); len(tasks) != 1 || tasks[0].Description != "what was forgotten" {
		t.Errorf("%+v", tasks)
	}
}

func TestReworkGoesBeforeGroupsThatHaveNotBegun(t *testing.T) {
	p := newPlay(t, Start{Developers: 1}, script{"pm-1": threeGroups, "A-qa-1": word("FAIL")})
	if o := p.run(); !o.Completed {
		t.Fatal(o)
	}
	trace := strings.Join(p.trace, " ")
	if !strings.HasPrefix(trace, "pm-1 A-developer-1 A-qa-1 B-developer-1 B-qa-1 A-developer-2") {
		t.Error(trace)
	}
	p = newPlay(t, Start{Developers: 1}, script{
		"pm-1":   `{"status":"PLANNED","mode":"parallel","groups":[{"id":"A","tasks":[{"id":"T1"}]},{"id":"B","tasks":[{"id":"T2"}]},{"id":"C","tasks":[{"id":"T3"}]}]}`,
		"A-qa-1": word("FAIL"),
	})
	if o := p.run(); !o.Completed {
		t.Fatal(o)
	}
	trace = strings.Join(p.trace, " ")
	if strings.Index(trace, "A-developer-2") > strings.Index(trace, "C-developer-1") {
		t.Errorf("C was begun before A was worked on again: %s", trace)
	}
}

func TestAStepThatNextReturnedMayStillBegin(t *testing.T) {
	p := newPlay(t, Start{Developers: 1}, script{"pm-1": threeGroups, "A-qa-1": string(failure.Auth)})
	for len(p.trace) < 2 {
		p.begin(p.session.Next()[0])
		p.end(p.session.schedule.running[0].Step)
	}
	next := p.session.Next() // the steps are A-qa-1 and B-developer-1
	p.begin(next[0])
	p.end(next[0])
	if _, ended := p.session.Outcome(); !ended || len(p.session.Next()) != 0 {
		t.Fatal("the session goes on")
	}
	p.begin(next[1])
	if _, ended := p.session.Outcome(); ended {
		t.Error("it has ended while B is worked on")
	}
	p.end(next[1])
	if _, ended := p.session.Outcome(); !ended || p.status("B").Status != team.WaitingQA {
		t.Errorf("B is %s", p.status("B").Status)
	}
}

func TestAStepThatIsNotDueIsRefusedAndChangesNothing(t *testing.T) {
	p := newPlay(t, Start{}, script{})
	p.begin(p.session.Next()[0])
	p.end(p.session.schedule.running[0].Step)
	was := p.session.Contents(nil)
	for _, step := range []Step{
		{ID: "pm-1", Role: team.PM, Purpose: Plan},
		{ID: "A-developer-2", Role: team.Developer, Group: "A", Purpose: Work},
		{ID: "B-developer-1", Role: team.Developer, Group: "B", Purpose: Work},
		{ID: "A-qa-1", Role: team.QAExpert, Group: "A", Purpose: Test},
		{},
	} {
		if err := p.session.Begin(step, p.now); err == nil {
			t.Errorf("%s began", step.ID)
		}
	}
	if err := p.session.End("A-developer-1", Ending{}); err == nil {
		t.Error("what has not begun has ended")
	}
	if now := p.session.Contents(nil); now.PM.Iteration != was.PM.Iteration || now.Orchestrator.LastUpdate != was.Orchestrator.LastUpdate {
		t.Error("it has changed something")
	}
}
