package roles

import (
	"slices"
	"strings"

	"gaffer/internal/flow/prompt"
	"gaffer/internal/flow/teamstate"
)

// MaxPrompt is the maximum size of a prompt, in bytes.
const MaxPrompt = 64 << 10

// frame is an upper bound for the size of gaffer's own text in one variable: the
// heading, the fence, and notes about omitted text.
const frame = 512

// levels are the size limits for all variables. They are tried in order until the
// prompt is short enough, so the longest variables are cut first.
var levels = []int{32 << 10, 16 << 10, 12 << 10, 8 << 10, 6 << 10, 4 << 10, 3 << 10, 2 << 10, 1 << 10, 512}

// Prompt returns the prompt for the role of a step.
func (s Set) Prompt(b teamstate.Brief) (string, error) {
	u, ok := useFor(b.Step.Purpose)
	if !ok {
		return "", &PurposeError{b.Step.Purpose}
	}
	b = complete(b, u)
	t, length := s.templates[u.name], 0
	for _, level := range levels {
		text, err := render(t, b, level)
		if length = len(text); err != nil || length <= MaxPrompt {
			return text, err
		}
	}
	return "", tooLarge(t.Name, length)
}

// complete sets the values of a brief that follow from its purpose.
func complete(b teamstate.Brief, u use) teamstate.Brief {
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

// render fills the template, with each variable cut to level.
func render(t prompt.Template, b teamstate.Brief, level int) (string, error) {
	text := prompt.Parse(t.Name, withEnd(t))
	has, values := text.Variables(), map[string]string{}
	for _, v := range Variables() {
		if slices.Contains(has, v.Name) {
			values[v.Name] = v.value(b, min(v.Most, level))
		}
	}
	return prompt.Parse(t.Name, prepare(text.Text, values)).Fill(nil, values)
}

// prepare removes lines that consist of only a variable without a value.
func prepare(text string, values map[string]string) string {
	var b strings.Builder
	dropped := false
	for line := range strings.Lines(text) {
		if name := alone(line); name != "" && values[name] == "" {
			dropped = true
			continue
		}
		if dropped && strings.TrimSpace(line) == "" {
			dropped = false
			continue // the blank line after the removed variable
		}
		dropped = false
		b.WriteString(line)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// withEnd appends the variables that every prompt needs, if the template lacks them.
// Without them, an agent would not know how to answer.
func withEnd(t prompt.Template) string {
	text, has := strings.TrimRight(t.Text, "\n"), t.Variables()
	for _, name := range []string{"ANSWER", "AGAIN"} {
		if !slices.Contains(has, name) {
			text += "\n\n{{" + name + "}}"
		}
	}
	return text + "\n"
}

// least returns the size of the prompt with every variable cut to the lowest level, as
// an upper bound.
func least(t prompt.Template) int {
	u := uses[slices.IndexFunc(uses, func(u use) bool { return u.name == t.Name })]
	b := complete(teamstate.Brief{Step: teamstate.Step{Purpose: u.purpose}}, u)
	size := map[string]int{"RULES": len(rules()), "ANSWER": len(answer(b, 0))}
	n := len(t.Text)
	for line := range strings.Lines(withEnd(t)) {
		if name := alone(line); name != "" {
			n += max(size[name], levels[len(levels)-1]) + frame
			continue
		}
		n += strings.Count(line, "{{") * (2*maxName + 200)
	}
	return n
}
