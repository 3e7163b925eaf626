package roles

import (
	"cmp"
	"slices"
	"strings"

	"gaffer/internal/flow/teamstate"
	"gaffer/team"
)

// issueList returns a list of the issues of the last review that requested changes. For roles other
// than the developer, it includes the developer's replies.
func issueList(b teamstate.Brief, maxBytes int) string {
	var list []string
	for _, i := range b.Issues {
		text := issue(i.Issue)
		if b.Step.Role != team.Developer {
			text += labelLine("  the developer's reply", cmp.Or(i.Reply, "none"))
		}
		list = append(list, text)
	}
	heading := "Issues of the last review, and the developer's replies"
	if b.Step.Role == team.Developer {
		heading = "Issues that you have to answer one by one"
	}
	return section(heading, fencedList(list, maxBytes, ""))
}

func issue(i team.Issue) string {
	head := strings.Join(slices.DeleteFunc([]string{i.Priority, i.Title, i.Location}, func(s string) bool { return s == "" }), ", ")
	return joinLines(labelLine(strings.TrimSpace("issue "+oneLine(i.ID)), head), labelLine("  what", i.Description), labelLine("  how to repair it", i.FixSuggestion))
}

// messageList returns a list of the messages that agents in other roles, such as the tech lead,
// have written to the agent for which the prompt is made.
func messageList(b teamstate.Brief, maxBytes int) string {
	var list []string
	for _, m := range b.Messages {
		list = append(list, messageText(m, b.Feedback, len(b.Issues) > 0))
	}
	heading := map[team.Role]string{
		team.Developer: "What the tech lead wrote", team.QAExpert: "What the developer wrote", team.TechLead: "What QA wrote",
	}[b.Step.Role]
	if heading == "" {
		heading = "Messages"
	}
	return section(heading, fencedList(list, maxBytes, ""))
}

// lastWork returns a section of the prompt with b.Work, the developer's last message about the
// work. It returns "" if one of the messages in b.Messages already contains this text.
func lastWork(b teamstate.Brief, maxBytes int) string {
	for _, m := range b.Messages {
		switch body := m.Body.(type) {
		case *team.Handoff:
			if body.Context.Notes == b.Work {
				return ""
			}
		case *team.TestReport:
			if body.DeveloperContext.ImplementationSummary == b.Work {
				return ""
			}
		}
	}
	return section("What the developer said of the work", fencedText(b.Work, maxBytes, ""))
}

// messageText returns a message as text. The arguments promptText and listed are used only if the
// message is a review (see reviewText).
func messageText(m team.Message, promptText string, listed bool) string {
	first := joinLines(labelLine("from", oneLine(string(m.From))), labelLine("subject", m.Subject))
	switch body := m.Body.(type) {
	case *team.Handoff:
		return first + handoff(body)
	case *team.TestReport:
		return first + testReport(body)
	case *team.Review:
		return first + reviewText(body, promptText, listed)
	}
	return first
}

func handoff(h *team.Handoff) string {
	return joinLines(labelLine("status", h.Status), labelLine("unit tests", h.Context.UnitTestsStatus), labelLine("notes", h.Context.Notes))
}

func testReport(r *team.TestReport) string {
	t := r.TestResults
	return joinLines(
		labelLine("result", r.Result), labelLine("integration tests", t.IntegrationTests), labelLine("contract tests", t.ContractTests),
		labelLine("end to end tests", t.E2ETests), labelLine("time", t.TotalTime),
		labelLine("what the developer did", r.DeveloperContext.ImplementationSummary),
	)
}

// reviewText returns a review as text. It leaves out the feedback if promptText, another part of
// the same prompt, already contains it. It leaves out the issues if the review requested changes
// and listed is true: then another part of the prompt already lists the issues.
func reviewText(r *team.Review, promptText string, listed bool) string {
	feedback := r.Feedback
	if strings.Contains(promptText, strings.TrimSpace(feedback)) {
		feedback = ""
	}
	lines := []string{labelLine("decision", string(r.Decision)), labelLine("feedback", feedback)}
	for _, i := range r.Issues {
		if !listed || r.Decision != team.DecisionChangesRequested {
			lines = append(lines, strings.TrimSuffix(issue(i), "\n"))
		}
	}
	for _, item := range r.ActionableItems {
		lines = append(lines, labelLine("to do", item))
	}
	return joinLines(lines...)
}
