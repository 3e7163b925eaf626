package roles

import (
	"slices"
	"strings"

	"gaffer/internal/flow/prompt"
	"gaffer/internal/flow/teamstate"
)

// MaxPrompt is the maximum size of a prompt, in bytes.
const MaxPrompt = 64 << 10

// variableOverhead is the maximum size, in bytes, of the text that gaffer adds to the value of one
// template variable: heading, code fence, and notes about omitted text.
const variableOverhead = 512

// sizeLevels holds size limits, in bytes. A limit applies to the value of each template variable
// separately. The limits are tried in this order until the prompt is short enough, so the longest
// values are cut first.
var sizeLevels = []int{32 << 10, 16 << 10, 12 << 10, 8 << 10, 6 << 10, 4 << 10, 3 << 10, 2 << 10, 1 << 10, 512}

// Prompt returns the prompt for the agent of one step in a team's work. The brief b has the
// information about the step. If the prompt would be longer than MaxPrompt, Prompt shortens the
// values of the template's variables. It returns an error if the prompt is still too long.
func (s Set) Prompt(b teamstate.Brief) (string, error) {
	u, ok := useFor(b.Step.Purpose)
	if !ok {
		return "", &PurposeError{b.Step.Purpose}
	}
	b = completeBrief(b, u)
	t, length := s.templates[u.name], 0
	for _, level := range sizeLevels {
		text, err := render(t, b, level)
		if length = len(text); err != nil || length <= MaxPrompt {
			return text, err
		}
	}
	return "", tooLarge(t.Name, length)
}

// completeBrief fills in empty fields of a brief, the information from which a prompt is made. It
// takes the agent's role and the allowed status words of the agent's answer from u. It takes the id
// of the step's group from the brief's field Group.
func completeBrief(b teamstate.Brief, u templateUse) teamstate.Brief {
	if b.Step.Role == "" {
		b.Step.Role = u.role
	}
	if b.Step.Group == "" {
		b.Step.Group = b.Group.ID
	}
	if len(b.Words) == 0 {
		b.Words = u.words
	}
	return b
}

// render returns the prompt that the template t gives for the brief b. If the value of a variable
// contains untrusted text, such as text of other agents, this text is cut to at most level bytes.
func render(t prompt.Template, b teamstate.Brief, level int) (string, error) {
	text := prompt.Parse(t.Name, withRequiredVariables(t))
	has, values := text.Variables(), map[string]string{}
	for _, v := range Variables() {
		if slices.Contains(has, v.Name) {
			values[v.Name] = v.value(b, min(v.Most, level))
		}
	}
	return prompt.Parse(t.Name, removeEmptyVariables(text.Text, values)).Fill(nil, values)
}

// removeEmptyVariables removes the lines of a template that consist of a single variable without a
// value.
func removeEmptyVariables(text string, values map[string]string) string {
	var b strings.Builder
	dropped := false
	for line := range strings.Lines(text) {
		if name := onlyVariable(line); name != "" && values[name] == "" {
			dropped = true
			continue
		}
		if dropped && strings.TrimSpace(line) == "" {
			dropped = false
			continue // also remove the blank line after the variable
		}
		dropped = false
		b.WriteString(line)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// withRequiredVariables returns the template's text. It appends the variables that every prompt
// needs but the template lacks: without them, an agent would not know how to answer.
func withRequiredVariables(t prompt.Template) string {
	text, has := strings.TrimRight(t.Text, "\n"), t.Variables()
	for _, name := range []string{"ANSWER", "AGAIN"} {
		if !slices.Contains(has, name) {
			text += "\n\n{{" + name + "}}"
		}
	}
	return text + "\n"
}

// minPromptSize returns an upper bound, in bytes, for the size of the shortest prompt that can be
// made from a template: the prompt in which the value of every variable is cut to the smallest of
// the sizeLevels.
func minPromptSize(t prompt.Template) int {
	u := templateUses[slices.IndexFunc(templateUses, func(u templateUse) bool { return u.name == t.Name })]
	b := completeBrief(teamstate.Brief{Step: teamstate.Step{Purpose: u.purpose}}, u)
	size := map[string]int{"RULES": len(rules()), "ANSWER": len(answerInstructions(b, 0))}
	n := len(t.Text)
	for line := range strings.Lines(withRequiredVariables(t)) {
		if name := onlyVariable(line); name != "" {
			n += max(size[name], sizeLevels[len(sizeLevels)-1]) + variableOverhead
			continue
		}
		n += strings.Count(line, "{{") * (2*maxName + 200)
	}
	return n
}
