package roles

import (
	"cmp"
	"slices"
	"strings"

	"gaffer/internal/flow/teamstate"
	"gaffer/team"
)

// issues lists the issues of the last review with the developer's replies.
func issues(b teamstate.Brief, most int) string {
	var list []string
	for _, i := range b.Issues {
		text := issue(i.Issue)
		if b.Step.Role != team.Developer {
			text += entry("  the developer's reply", cmp.Or(i.Reply, "none"))
		}
		list = append(list, text)
	}
	heading := "Issues of the last review, and the developer's replies"
	if b.Step.Role == team.Developer {
		heading = "Issues that you have to answer one by one"
	}
	return section(heading, items(list, most, ""))
}

func issue(i team.Issue) string {
	head := strings.Join(slices.DeleteFunc([]string{i.Priority, i.Title, i.Location}, func(s string) bool { return s == "" }), ", ")
	return entries(entry(strings.TrimSpace("issue "+oneLine(i.ID)), head), entry("  what", i.Description), entry("  how to repair it", i.FixSuggestion))
}

// messages lists the messages that the role gets with this start.
func messages(b teamstate.Brief, most int) string {
	var list []string
	for _, m := range b.Messages {
		list = append(list, message(m, b.Feedback, len(b.Issues) > 0))
	}
	heading := map[team.Role]string{
		team.Developer: "What the tech lead wrote", team.QAExpert: "What the developer wrote", team.TechLead: "What QA wrote",
	}[b.Step.Role]
	if heading == "" {
		heading = "Messages"
	}
	return section(heading, items(list, most, ""))
}

// work returns the developer's last message, or "" if messages already lists it.
func work(b teamstate.Brief, most int) string {
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
	return section("What the developer said of the work", block(b.Work, most, ""))
}

// message formats a message. It omits text that other parts of the prompt already
// contain.
func message(m team.Message, told string, listed bool) string {
	first := entries(entry("from", oneLine(string(m.From))), entry("subject", m.Subject))
	switch body := m.Body.(type) {
	case *team.Handoff:
		return first + handoff(body)
	case *team.TestReport:
		return first + testReport(body)
	case *team.Review:
		return first + review(body, told, listed)
	}
	return first
}

func handoff(h *team.Handoff) string {
	return entries(entry("status", h.Status), entry("unit tests", h.Context.UnitTestsStatus), entry("notes", h.Context.Notes))
}

func testReport(r *team.TestReport) string {
	t := r.TestResults
	return entries(
		entry("result", r.Result), entry("integration tests", t.IntegrationTests), entry("contract tests", t.ContractTests),
		entry("end to end tests", t.E2ETests), entry("time", t.TotalTime),
		entry("what the developer did", r.DeveloperContext.ImplementationSummary),
	)
}

// review formats a review. It omits issues that other parts of the prompt already
// contain.
func review(r *team.Review, told string, listed bool) string {
	feedback := r.Feedback
	if strings.Contains(told, strings.TrimSpace(feedback)) {
		feedback = ""
	}
	lines := []string{entry("decision", string(r.Decision)), entry("feedback", feedback)}
	for _, i := range r.Issues {
		if !listed || r.Decision != team.DecisionChangesRequested {
			lines = append(lines, strings.TrimSuffix(issue(i), "\n"))
		}
	}
	for _, item := range r.ActionableItems {
		lines = append(lines, entry("to do", item))
	}
	return entries(lines...)
}
