package teamstate

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/engine/failure"
	"gaffer/team"
)

// duty describes the steps of a team's session that have the same [Purpose]. It has the role of the
// agent that does such a step, the name that is part of the step's id, and the status words, such
// as PASS or FAIL, that the agent's answer may have. For a step that gaffer does itself, the role
// and the words are empty.
type duty struct {
	role  team.Role
	name  string
	words []team.Word
}

var duties = map[Purpose]duty{
	Plan:  {team.PM, "pm", []team.Word{team.WordPlanned, team.WordNeedsClarification}},
	Split: {team.PM, "pm", []team.Word{team.WordPlanned, team.WordContinue, team.WordNeedsClarification}},
	Check: {team.PM, "pm", []team.Word{team.WordComplete, team.WordContinue, team.WordNeedsClarification}},
	Work: {team.Developer, "developer", []team.Word{
		team.WordReadyForQA, team.WordReadyForReview, team.WordBlocked, team.WordIncomplete, team.WordPartial, team.WordError,
		team.WordNeedsClarification, team.WordEscalate,
	}},
	Test:    {team.QAExpert, "qa", []team.Word{team.WordPass, team.WordFail, team.WordBlocked, team.WordPartial, team.WordFlaky}},
	Review:  {team.TechLead, "tech-lead", []team.Word{team.WordApproved, team.WordApprovedWithNotes, team.WordChangesRequested}},
	Unblock: {team.TechLead, "tech-lead", []team.Word{team.WordUnblocked, team.WordEscalate, team.WordNeedsClarification}},
	Merge:   {name: "merge"},
	Deliver: {name: "deliver"},
}

// Words returns the status words that an agent's answer to a step with this purpose may have.
func Words(p Purpose) []team.Word { return slices.Clone(duties[p].words) }

// parseAnswer parses an agent's answer to a step with the purpose p. If the answer cannot be used,
// the error says why.
func parseAnswer(p Purpose, answer string) (team.Answer, error) {
	said, err := team.ParseAnswer(answer)
	if err != nil {
		return said, err
	}
	if words := duties[p].words; !slices.Contains(words, said.Status) {
		return said, fmt.Errorf("its status is %s; it must be %s", clip(string(said.Status), 60), either(words))
	}
	if problem := contradiction(said); problem != "" {
		return said, fmt.Errorf("its status is %s, but %s", said.Status, problem)
	}
	said.Summary = []string{feedbackText(said, answer)}
	return said, nil
}

// contradiction describes the part of an answer that contradicts the answer's status, or returns ""
// if no part does. An approval must not list an issue with the priority critical or high. An answer
// with the status PASS or COMPLETE must not list failed tests.
func contradiction(said team.Answer) string {
	tests := said.Body.Get("test_results")
	switch said.Status {
	case team.WordApproved, team.WordApprovedWithNotes:
		for _, i := range readIssues(said.Body.Get("issues")) {
			if i.Priority == "critical" || i.Priority == "high" {
				return fmt.Sprintf("its issue %q is %s, which blocks", clip(i.Title, 60), i.Priority)
			}
		}
		return ""
	case team.WordComplete:
		if c, ok := readTestCount(tests); ok && c.Failed > 0 {
			return fmt.Sprintf("%d of its tests failed", c.Failed)
		}
	case team.WordPass:
	default:
		return ""
	}
	for _, kind := range []string{"unit_tests", "integration_tests", "contract_tests", "e2e_tests"} {
		if c, ok := readTestCount(tests.Get(kind)); ok && c.Failed > 0 {
			return fmt.Sprintf("%d of its %s failed", c.Failed, strings.ReplaceAll(kind, "_", " "))
		}
	}
	return ""
}

// fullMessage returns the summary and the feedback in an answer. If the answer has neither,
// fullMessage returns the text of the answer.
func fullMessage(said team.Answer) string {
	var parts []string
	summary := said.Body.Get("summary")
	for _, item := range summary.Items() {
		parts = append(parts, item.String())
	}
	for _, text := range []string{summary.Text(), said.Body.Get("feedback").Text()} {
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return said.Text()
	}
	return clip(strings.Join(parts, "\n"), maxText)
}

func either(words []team.Word) string {
	var list []string
	for _, w := range words {
		list = append(list, string(w))
	}
	return strings.Join(list, " or ")
}

// feedbackText returns the feedback in an agent's answer or, if there is none, the summary. If the
// answer has neither, feedbackText returns the whole answer. said is the parsed answer.
func feedbackText(said team.Answer, answer string) string {
	for _, text := range []string{said.Body.Get("feedback").Text(), bodyText(said)} {
		if strings.TrimSpace(text) != "" {
			return clip(strings.TrimSpace(text), maxText)
		}
	}
	return clip(strings.TrimSpace(answer), maxText)
}

func bodyText(said team.Answer) string {
	if said.Body.Absent() {
		return ""
	}
	return said.Text()
}

// userAction returns what the user has to do about a failure of this class. It returns "" for a
// failure that another agent may be able to fix.
func userAction(c failure.Class) string {
	switch c {
	case failure.Auth:
		return "sign in to the agent's program, then 'gaffer team resume'"
	case failure.Denied:
		return "look at what it was not allowed to do and allow it, then 'gaffer team resume'"
	case failure.NotStarted:
		return "install the program of the role's agent, or name another agent for the role, then 'gaffer team resume'"
	case failure.BadPlan:
		return "look at the settings of the role's agent, then 'gaffer team resume'"
	case failure.OverBudget:
		return "'gaffer team resume --budget USD' goes on with a larger one"
	case failure.Cancelled:
		return "'gaffer team resume' tries it again"
	}
	return ""
}

// describeFailure returns a text about how a step failed. The user and the tech lead read it.
func describeFailure(step Step, e Ending) string {
	who := string(step.Role)
	if who == "" {
		who = string(step.Purpose)
	}
	text := fmt.Sprintf("%s (%s) ended with %s", who, step.ID, e.Class)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return clip(text, maxText)
}
