package teamwork

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/failure"
	"gaffer/team"
)

// duty is who a purpose is for, what its steps are called, and what the answer
// may say.
type duty struct {
	role  team.Role
	name  string
	words []team.Word
}

var duties = map[Purpose]duty{
	Plan:  {team.PM, "pm", []team.Word{team.WordPlanned}},
	Split: {team.PM, "pm", []team.Word{team.WordPlanned, team.WordContinue}},
	Check: {team.PM, "pm", []team.Word{team.WordComplete, team.WordContinue}},
	Work: {team.Developer, "developer", []team.Word{
		team.WordReadyForQA, team.WordReadyForReview, team.WordBlocked, team.WordIncomplete, team.WordError,
	}},
	Test:    {team.QAExpert, "qa", []team.Word{team.WordPass, team.WordFail, team.WordBlocked, team.WordFlaky}},
	Review:  {team.TechLead, "tech-lead", []team.Word{team.WordApproved, team.WordChangesRequested}},
	Unblock: {team.TechLead, "tech-lead", []team.Word{team.WordUnblocked}},
	Merge:   {name: "merge"},
	Deliver: {name: "deliver"},
}

// hear reads an answer. What is wrong with one that cannot be used is an error.
func hear(p Purpose, answer string) (team.Answer, error) {
	said, err := team.ParseAnswer(answer)
	if err != nil {
		return said, err
	}
	if words := duties[p].words; !slices.Contains(words, said.Status) {
		return said, fmt.Errorf("its status is %s; it must be %s", clip(string(said.Status), 60), either(words))
	}
	said.Summary = []string{wording(said, answer)}
	return said, nil
}

func either(words []team.Word) string {
	var list []string
	for _, w := range words {
		list = append(list, string(w))
	}
	return strings.Join(list, " or ")
}

// wording is what an agent said beside the status: its feedback, else its
// summary, else, since a status line has neither, all of it.
func wording(said team.Answer, answer string) string {
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

// personal says what a person has to do about a failure that no agent can help
// with, or "".
func personal(c failure.Class) string {
	switch c {
	case failure.Auth:
		return "sign in to the agent's program, then 'gaffer team resume'"
	case failure.Denied:
		return "look at what it was not allowed to do and allow it, then 'gaffer team resume'"
	case failure.BadPlan:
		return "look at the settings of the role's agent, then 'gaffer team resume'"
	case failure.OverBudget:
		return "'gaffer team resume --budget USD' goes on with a larger one"
	case failure.Cancelled:
		return "'gaffer team resume' tries it again"
	}
	return ""
}

// failed says how a step failed, for people and for the tech lead.
func failed(step Step, e Ending) string {
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
