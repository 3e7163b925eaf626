package teamstate

import (
	"strings"
	"testing"

	"gaffer/team"
)

func TestTheTechLeadsStepsAndRemarksBothReachTheDeveloper(t *testing.T) {
	p := newPlay(t, Start{}, script{
		"A-developer-1": word("BLOCKED"),
		"A-tech-lead-1": `{"status":"UNBLOCKED","summary":["1. listen on port 0","2. pass the port on"],"feedback":"do not wait for the port"}`,
		"A-tech-lead-2": `{"status":"CHANGES_REQUESTED","summary":["the rate is not limited"],"feedback":"the structure is good","issues":[{"priority":"high","title":"rate"}]}`,
		"A-qa-2":        `{"status":"FAIL","summary":["page 2 is empty"],"feedback":"only with 50 entries"}`,
	})
	p.completes(`pm-1 A-developer-1 A-tech-lead-1 A-developer-2 A-qa-1 A-tech-lead-2 A-developer-3 A-qa-2 A-developer-4 A-qa-3
		A-tech-lead-3 A-merge-1 pm-2`)
	for step, want := range map[string][]string{
		"A-developer-2": {"1. listen on port 0", "2. pass the port on", "do not wait for the port"},
		"A-developer-3": {"the rate is not limited", "the structure is good"},
		"A-developer-4": {"page 2 is empty", "only with 50 entries"},
	} {
		for _, text := range want {
			if b := p.briefs[step]; !strings.Contains(b.Guidance+b.Feedback, text) {
				t.Errorf("%s does not get %q but %q and %q", step, text, b.Guidance, b.Feedback)
			}
		}
	}
	if b := p.status("A").Blockers[0]; !strings.Contains(b.Resolution, "listen on port 0") || !strings.Contains(b.Resolution, "do not wait") {
		t.Errorf("the blocker is resolved by %q", b.Resolution)
	}
}

func TestAReReviewHasTheEarlierIssuesAndTheDevelopersReplyToEach(t *testing.T) {
	p := newPlay(t, Start{}, script{
		"A-tech-lead-1": `{"status":"CHANGES_REQUESTED","issues":[{"id":"rate","priority":"high","title":"no limit"},{"priority":"critical","title":"token in the log"},{"id":"rate","title":"name"}]}`,
		"A-developer-2": `{"status":"READY_FOR_QA","replies":[{"id":"rate","status":"fixed"},{"id":"A-1","status":"rejected","reason":"it is a test token"}]}`,
		"A-qa-2":        word("FAIL"),
		"A-developer-3": `{"status":"READY_FOR_QA","replies":{"A-2":"fixed: renamed"}}`,
	})
	p.completes(`pm-1 A-developer-1 A-qa-1 A-tech-lead-1 A-developer-2 A-qa-2 A-developer-3 A-qa-3 A-tech-lead-2 A-merge-1 pm-2`)
	if got := inOneLine(t, p.briefs["A-developer-2"].Issues); got != "rate no limit=; A-1 token in the log=; A-2 name=" {
		t.Errorf("the developer gets %s", got)
	}
	if got := inOneLine(t, p.briefs["A-tech-lead-2"].Issues); got != "rate no limit=fixed; A-1 token in the log=rejected: it is a test token; A-2 name=fixed: renamed" {
		t.Errorf("the reviewer gets %s", got)
	}
	if r := p.session.mailbox.messages[2].Body.(*team.Review); r.Issues[1].ID != "A-1" {
		t.Errorf("the message has other ids: %+v", r.Issues)
	}
}

func inOneLine(t *testing.T, issues []Issue) string {
	t.Helper()
	var list []string
	for _, i := range issues {
		list = append(list, i.ID+" "+i.Title+"="+i.Reply)
	}
	return strings.Join(list, "; ")
}

func TestARepeatedQuestionHasTheAnswerThatCouldNotBeUsed(t *testing.T) {
	p := newPlay(t, Start{}, script{
		"pm-1": "a fine plan", "A-developer-1": "I am done", "A-developer-2": "really", "A-qa-1": "**Status:** PASS\n\n**Status:** it depends",
	})
	p.completes(`pm-1 pm-2 A-developer-1 A-developer-2 A-tech-lead-1 A-developer-3 A-qa-1 A-qa-2 A-tech-lead-2 A-merge-1 pm-3`)
	for step, want := range map[string]string{"pm-2": "a fine plan", "A-developer-2": "I am done", "A-qa-2": "it depends", "A-developer-3": "", "pm-3": ""} {
		if got := p.briefs[step].Unusable; !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s gets %q, want %q", step, got, want)
		}
	}
	if b := p.briefs["A-tech-lead-1"].Status.Blockers[0].Description; !strings.Contains(b, "really") {
		t.Errorf("the tech lead does not get the answer: %q", b)
	}
}

func TestAContradictoryStatusIsRequestedAgain(t *testing.T) {
	p := newPlay(t, Start{}, script{
		"A-qa-1":        `{"status":"PASS","test_results":{"e2e_tests":{"total":3,"passed":2,"failed":1}}}`,
		"A-tech-lead-1": `{"status":"APPROVED","issues":[{"priority":"critical","title":"loses data"}]}`,
		"A-tech-lead-2": `{"status":"APPROVED_WITH_NOTES","issues":[{"priority":"low","title":"a name"}]}`,
		"pm-2":          `{"status":"COMPLETE","test_results":{"total":30,"passed":29,"failed":1}}`,
		"pm-3":          `{"status":"BAZINGA","test_results":{"total":30,"passed":30,"failed":0}}`,
	})
	p.completes("pm-1 A-developer-1 A-qa-1 A-qa-2 A-tech-lead-1 A-tech-lead-2 A-merge-1 pm-2 pm-3")
	for step, want := range map[string]string{
		"A-qa-2": "1 of its e2e tests failed", "A-tech-lead-2": `its issue "loses data" is critical`, "pm-3": "1 of its tests failed",
	} {
		if got := p.briefs[step].Step.Again; !strings.Contains(got, want) {
			t.Errorf("%s is asked again for %q, want %q", step, got, want)
		}
	}
}

func TestBazingaCountsOnlyFromTheProjectManagerWhenAllGroupsAreComplete(t *testing.T) {
	p := newPlay(t, Start{}, script{
		"pm-1": threeGroups, "A-developer-1": word("BAZINGA"), "A-tech-lead-1": word("BAZINGA"),
		"pm-2": "BAZINGA", "pm-3": word("BAZINGA"),
	})
	if o := p.run(); !o.Completed {
		t.Fatal(o)
	}
	p.expectLog("refuse_complete", "C is pending")
	trace := strings.Join(p.trace, " ")
	for _, want := range []string{"A-developer-2", "A-tech-lead-2", "C-merge-1"} {
		if !strings.Contains(trace, want) {
			t.Errorf("no %s in %s", want, trace)
		}
	}
}

func TestAStrongerModelTakesOverWhenADeveloperOrTheTechLeadAsksForIt(t *testing.T) {
	for _, s := range []script{
		{"A-developer-1": word("ESCALATE_SENIOR")},
		{"A-developer-1": word("PARTIAL"), "A-tech-lead-1": word("ESCALATE")},
	} {
		p := newPlay(t, Start{}, s)
		p.completes("pm-1 A-developer-1 A-tech-lead-1 A-developer-2 A-qa-1 A-tech-lead-2 A-merge-1 pm-2")
		if p.briefs["A-developer-1"].Escalated || !p.briefs["A-developer-2"].Escalated || p.briefs["A-tech-lead-2"].Escalated {
			t.Errorf("%v: %v %v", s, p.briefs["A-developer-1"].Escalated, p.briefs["A-developer-2"].Escalated)
		}
		p.expectLog("escalate_group_A", "wants a stronger model")
	}
}

func TestQuestionsOfTheProjectManagerAndTheTechLeadGoToTheUser(t *testing.T) {
	const question = `{"status":"NEEDS_CLARIFICATION","summary":"per user or per key?"}`
	p := newPlay(t, Start{}, script{"pm-1": question, "A-developer-1": question, "A-tech-lead-1": question})
	p.stops("the project manager asks: per user or per key?", "pm-1")
	p.session.Resume(p.now)
	p.stops("the tech lead asks about group A: per user or per key?", "pm-1 pm-2 A-developer-1 A-tech-lead-1")
	p.session.Resume(p.now)
	p.completes("pm-1 pm-2 A-developer-1 A-tech-lead-1 A-tech-lead-2 A-developer-2 A-qa-1 A-tech-lead-3 A-merge-1 pm-3")
	if b := p.briefs["pm-2"]; !strings.Contains(b.Missing, "per user or per key?") || !strings.Contains(b.Missing, "without an answer") {
		t.Errorf("the project manager reads %q", b.Missing)
	}
	if b := p.briefs["A-tech-lead-2"]; !strings.Contains(b.Guidance, "per user or per key?") {
		t.Errorf("the tech lead reads %q", b.Guidance)
	}
	if b := p.briefs["pm-3"]; b.Missing != "" {
		t.Errorf("the question is asked for ever: %q", b.Missing)
	}
}
