package teamstate

import (
	"strings"
	"testing"
	"time"

	"gaffer/team"
)

func TestCountsOfTestsAreReadFromNumbersAndFromText(t *testing.T) {
	for text, want := range map[string]team.TestCount{
		`{"total":12,"passed":11,"failed":1}`: {Total: 12, Passed: 11, Failed: 1},
		`"8/8 passed"`:                        {Total: 8, Passed: 8},
		`"7 / 9"`:                             {Total: 9, Passed: 7, Failed: 2},
		`"12 passed, 1 failed"`:               {Total: 13, Passed: 12, Failed: 1},
	} {
		if got, ok := readTestCount(parse(t, text)); !ok || got != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
	for _, text := range []string{`"all fine"`, `"9/7"`, `{}`, `7`, `null`, `{"total":"x"}`} {
		if got, ok := readTestCount(parse(t, text)); ok {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestMessagesOfOneSecondHaveIDsOfTheirOwn(t *testing.T) {
	var b mailbox
	g := newGroup("A", 9)
	for range 3 {
		b.sendHandoff(g, team.Answer{}, noon)
	}
	b.sendHandoff(g, team.Answer{}, noon.Add(time.Second))
	var ids []string
	for _, m := range b.messages {
		ids = append(ids, m.ID)
	}
	if got := strings.Join(ids, " "); got != "msg_20250106_120000_A_developer msg_20250106_120000_A_developer_2 msg_20250106_120000_A_developer_3 msg_20250106_120001_A_developer" {
		t.Error(got)
	}
}

func TestAMessageIsReadWhenItsReceiverIsStarted(t *testing.T) {
	p := newPlay(t, Start{}, script{})
	w := Changes{"A": {Files: []string{"a.go"}, Commits: []string{"abc - a"}}}
	for p.session.groups.find("A") == nil || p.status("A").Status != team.WaitingQA {
		p.begin(p.session.Next()[0])
		p.end(p.session.schedule.running[0].Step)
	}
	m := p.session.Contents(w).Messages[0]
	if h := m.Body.(*team.Handoff); m.Read || h.Context.FilesModified[0] != "a.go" || h.Context.BranchName != "gaffer/v4_x/A" {
		t.Errorf("%+v %+v", m, h)
	}
	p.begin(p.session.Next()[0])
	if !p.session.Contents(w).Messages[0].Read {
		t.Error("QA has begun and not read it")
	}
}

func TestTheRemainingTimeIsEstimatedFromMeasurements(t *testing.T) {
	if (workTimes{}).remaining(nil, 2) != nil {
		t.Error("nothing was measured")
	}
	times := workTimes{team.PM: {1, time.Minute}, team.Developer: {2, 8 * time.Minute}}
	var groups []*group
	for _, status := range []team.GroupStatus{team.Pending, team.WaitingQA, team.TechReview, team.Complete} {
		g := newGroup(string(status), 9)
		g.status.Status = status
		groups = append(groups, g)
	}
	// A developer took 4 minutes. For each other role the mean of all starts is used: 3 minutes.
	// The groups need 4+3+3, 3+3 and 3 minutes, divided by two developers.
	if got := *times.remaining(groups, 2); got != 9.5 {
		t.Error(got)
	}
}
