package agent

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Texts that gaffer sends where no user is asked.
const (
	refusalText = "Denied: no user is here to allow it. Continue without it."
	ownChoice   = "Decide for yourself."
)

// permissionOptions returns the possible answers to a request for permission.
func permissionOptions() []string { return []string{"allow", "deny"} }

// allows reports whether the answer grants a request for permission. Everything except
// a clear yes denies it, with the text as the reason.
func (a Answer) allows() bool {
	switch strings.ToLower(strings.TrimSpace(a.Text)) {
	case "allow", "yes", "y", "ok", "accept":
		return !a.Deny
	}
	return false
}

// reason returns the reason for a denial.
func (a Answer) reason() string {
	switch text := strings.TrimSpace(a.Text); strings.ToLower(text) {
	case "", "deny", "no", "n", "decline", "allow", "yes":
		return "Denied by the user."
	default:
		return text
	}
}

// request handles a request for permission. A question to the user is one kind of it.
func (c *claudeReader) request(l claudeLine) []Signal {
	if l.RequestID == "" {
		return nil
	}
	if l.Request.Subtype != "can_use_tool" {
		return []Signal{{ReplyTo: l.RequestID, Reply: controlError(l.RequestID, "not supported: "+l.Request.Subtype)}}
	}
	if l.Request.ToolUseID != "" {
		c.waits[l.Request.ToolUseID] = l.RequestID
	}
	q := l.question()
	if asks(c.policy) {
		return []Signal{{State: Waiting, Ask: &q, Doing: brief(q.Text)}}
	}
	answer := Answer{Text: "allow"}
	if len(l.questions()) > 0 {
		answer.Text = choices(l.questions())
	}
	if c.policy == Deny {
		answer = Answer{Deny: true, Text: refusalText}
		c.refused = append(c.refused, claudeDenial{Tool: l.Request.Tool, ToolUseID: l.Request.ToolUseID, Input: l.Request.Input})
	}
	return []Signal{{ReplyTo: l.RequestID, Reply: q.Reply(answer)}}
}

// choices returns the first option of each question. Programs put their own preference
// first.
func choices(questions []choiceQuestion) string {
	var lines []string
	for _, q := range questions {
		choice := ownChoice
		if len(q.Options) > 0 {
			choice = q.Options[0].Label
		}
		lines = append(lines, choice)
	}
	return strings.Join(lines, "\n")
}

// choiceQuestion is one of several questions that an agent asks at once.
type choiceQuestion struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	Options  []struct {
		Label string `json:"label"`
	} `json:"options"`
}

func (q choiceQuestion) labels() []string {
	var labels []string
	for _, o := range q.Options {
		labels = append(labels, o.Label)
	}
	return labels
}

func (l claudeLine) questions() []choiceQuestion {
	if l.Request.Tool != "AskUserQuestion" {
		return nil
	}
	var input struct {
		Questions []choiceQuestion `json:"questions"`
	}
	decode(l.Request.Input, &input)
	return input.Questions
}

func (l claudeLine) question() Question {
	id, input := l.RequestID, l.Request.Input
	q := Question{ID: id}
	questions := l.questions()
	if len(questions) > 0 {
		q.Text, q.Options = together(questions)
	} else {
		q.Text, q.Options = whole(l.Request.Tool, input), permissionOptions()
	}
	q.Reply = func(a Answer) []byte {
		switch {
		case len(questions) > 0 && !a.Deny:
			return control(id, object{"behavior": "allow", "updatedInput": answered(input, questions, a.Text)})
		case len(questions) == 0 && a.allows():
			return control(id, object{"behavior": "allow", "updatedInput": orEmpty(input)})
		}
		return control(id, object{"behavior": "deny", "message": a.reason()})
	}
	return q
}

// together combines several questions into one, to be answered with one line each.
func together(questions []choiceQuestion) (text string, options []string) {
	if len(questions) == 1 {
		return full(questions[0].Question), questions[0].labels()
	}
	var lines []string
	for i, q := range questions {
		line := fmt.Sprintf("%d. %s", i+1, full(q.Question))
		if labels := q.labels(); len(labels) > 0 {
			line += " (" + strings.Join(labels, ", ") + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

// answers assigns one line of the text to each question. If the number of lines
// differs, every question gets the whole text.
func answers(questions []choiceQuestion, text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(questions) == 1 || len(lines) != len(questions) {
		lines = make([]string, len(questions))
		for i := range lines {
			lines[i] = text
		}
	}
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

// answered returns the input of the question tool with the answers added.
func answered(input json.RawMessage, questions []choiceQuestion, text string) object {
	members := map[string]json.RawMessage{}
	decode(input, &members)
	all := object{}
	for name, value := range members {
		all[name] = value
	}
	given := object{}
	for i, line := range answers(questions, text) {
		given[questions[i].Question] = line
	}
	all["answers"] = given
	return all
}

func orEmpty(input json.RawMessage) any {
	if len(input) == 0 {
		return object{}
	}
	return input
}

func control(id string, response any) []byte {
	return encode(object{"type": "control_response", "response": object{"subtype": "success", "request_id": id, "response": response}})
}

func controlError(id, text string) []byte {
	return encode(object{"type": "control_response", "response": object{"subtype": "error", "request_id": id, "error": text}})
}
