package teamstate

import (
	"fmt"
	"slices"
	"time"

	"gaffer/team"
)

// message is a message to a role, for example to the tech lead, about one group of tasks. Every
// agent that starts to work on the group in this role receives the message, until one of them has
// handled it.
type message struct {
	team.Message
	done bool // an agent of the receiving role has handled the message
}

// mailbox holds all messages that the roles of a team session have sent to each other.
type mailbox struct{ messages []message }

// send adds a message with a unique id to the mailbox.
func (b *mailbox) send(g *group, from, to team.Role, subject string, body team.Body, at time.Time) {
	base := fmt.Sprintf("msg_%s_%s_%s", at.UTC().Format("20060102_150405"), g.id, from)
	id := base
	for n := 2; slices.ContainsFunc(b.messages, func(m message) bool { return m.ID == id }); n++ {
		id = fmt.Sprintf("%s_%d", base, n)
	}
	b.messages = append(b.messages, message{Message: team.Message{
		ID: id, GroupID: g.id, From: from, To: to, Timestamp: team.At(at),
		Subject: fmt.Sprintf("%s: %s", g.status.Name, subject), Body: body,
	}})
}

func (b *mailbox) sendHandoff(g *group, said team.Answer, at time.Time) {
	b.send(g, team.Developer, team.QAExpert, "ready for QA", &team.Handoff{
		Status: string(said.Status),
		Context: team.HandoffContext{
			BranchName: g.status.BranchName, UnitTestsStatus: g.units, Notes: said.Text(),
		},
	}, at)
}

func (b *mailbox) sendReport(g *group, said team.Answer, at time.Time) {
	results, result := said.Body.Get("test_results"), team.WordFail
	subject := fmt.Sprintf("QA says %s: %s", said.Status, said.Text())
	if said.Status == team.WordPass {
		subject, result = "QA passed", team.WordPass
	}
	total := oneLine(results.Get("total_time").Text())
	if total == "" {
		total = oneLine(said.Body.Get("total_time").Text())
	}
	b.send(g, team.QAExpert, team.TechLead, oneLine(clip(subject, 200)), &team.TestReport{
		Result: string(result),
		TestResults: team.TestSummary{
			IntegrationTests: formatCount(results.Get("integration_tests"), "passed"),
			ContractTests:    formatCount(results.Get("contract_tests"), "passed"),
			E2ETests:         formatCount(results.Get("e2e_tests"), "passed"),
			TotalTime:        total,
		},
		DeveloperContext: team.DeveloperContext{ImplementationSummary: g.work},
	}, at)
}

func (b *mailbox) sendReview(g *group, d team.Decision, said team.Answer, found []team.Issue, at time.Time) {
	subject := map[team.Decision]string{
		team.DecisionApproved:         "approved",
		team.DecisionChangesRequested: "changes requested",
		team.DecisionUnblocked:        "help",
	}[d]
	b.send(g, team.TechLead, team.Developer, subject, &team.Review{
		Decision: d, Feedback: fullMessage(said),
		Issues: found, ActionableItems: stringList(said.Body.Get("actionable_items")),
	}, at)
}

// markRead marks all messages to the role receiver about a group of tasks as read. It is called
// when an agent of that role starts to work on the group.
func (b *mailbox) markRead(group string, receiver team.Role) {
	for i, m := range b.messages {
		if m.GroupID == group && m.To == receiver {
			b.messages[i].Read = true
		}
	}
}

// handled marks the messages to the role receiver about a group of tasks as handled. word is the
// status word of the receiver's answer. If the word says that the work is not done, such as
// BLOCKED, handled does nothing.
func (b *mailbox) handled(g *group, receiver team.Role, word team.Word) {
	switch word {
	case team.WordBlocked, team.WordIncomplete, team.WordPartial, team.WordError, team.WordNeedsClarification, team.WordEscalate:
		return
	}
	for i, m := range b.messages {
		if m.GroupID == g.id && m.To == receiver {
			b.messages[i].done = true
		}
	}
}

// messagesTo returns the messages about a group of tasks that an agent of the role receiver gets
// when it starts: those that no agent of this role has handled yet. c has the group's changed files
// and commits, which messagesTo adds to the messages that list them.
func (b *mailbox) messagesTo(receiver team.Role, group string, c Change) []team.Message {
	var list []team.Message
	for _, m := range b.messages {
		if m.GroupID == group && m.To == receiver && !m.done {
			list = append(list, m.with(c))
		}
	}
	return list
}

// with returns a copy of m. If m is a developer's handoff to QA, the copy also lists the files and
// commits in c. If m is QA's test report, the copy also lists the files in c.
func (m message) with(c Change) team.Message {
	out := m.Message
	switch body := m.Body.(type) {
	case *team.Handoff:
		b := *body
		b.Context.FilesModified, b.Context.Commits = clipList(c.Files), clipList(c.Commits)
		out.Body = &b
	case *team.TestReport:
		b := *body
		b.DeveloperContext.FilesModified = clipList(c.Files)
		out.Body = &b
	}
	return out
}
