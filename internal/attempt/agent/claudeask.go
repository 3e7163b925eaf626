package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/engine/permission"
)

// Texts of answers that gaffer gives an agent without asking the user.
const (
	refusalText   = "Denied: no user is here to allow it. Continue without it."
	ownChoiceText = "Decide for yourself."
)

// permissionOptions returns the possible answers to a request for permission.
func permissionOptions() []string { return []string{"allow", "deny"} }

// allows reports whether the answer grants a request for permission. Only a clear yes grants it.
// Any other text is a denial, and the text is its reason.
func (a Answer) allows() bool {
	return !a.Deny && permission.IsYes(a.Text)
}

// reason returns the reason for a denial: the text of the answer, or a standard sentence if the
// text is empty or only a word such as "no".
func (a Answer) reason() string {
	switch text := strings.TrimSpace(a.Text); strings.ToLower(text) {
	case "", "deny", "no", "n", "decline", "allow", "yes":
		return "Denied by the user."
	default:
		return text
	}
}

// request handles a control request of Claude Code. The only supported kind asks for permission to
// use a tool. A question to the user is of this kind too: its tool is AskUserQuestion. Requests of
// other kinds are answered with an error.
func (c *claudeReader) request(l claudeLine) []Signal {
	if l.RequestID == "" {
		return nil
	}
	if l.Request.Subtype != "can_use_tool" {
		return []Signal{{ReplyTo: l.RequestID, Reply: controlError(l.RequestID, "not supported: "+l.Request.Subtype)}}
	}
	if l.Request.ToolUseID != "" {
		c.openRequests[l.Request.ToolUseID] = l.RequestID
	}
	q := l.question(c.launched)
	if c.asks {
		return []Signal{{State: Waiting, Ask: &q, Doing: shortLine(q.Text)}}
	}
	answer := Answer{Text: "allow"}
	if len(l.questions()) > 0 {
		answer.Text = firstOptions(l.questions())
	}
	if c.policy == Deny {
		answer = Answer{Deny: true, Text: refusalText}
		c.deniedByGaffer = append(c.deniedByGaffer, claudeDenial{Tool: l.Request.Tool, ToolUseID: l.Request.ToolUseID, Input: l.Request.Input})
	}
	return []Signal{{ReplyTo: l.RequestID, Reply: q.Reply(answer)}}
}

// firstOptions returns an answer to questions, with one line for each question. The line is the
// question's first option, because programs put the option that they prefer first. For a question
// without options the line is ownChoiceText.
func firstOptions(questions []choiceQuestion) string {
	var lines []string
	for _, q := range questions {
		choice := ownChoiceText
		if len(q.Options) > 0 {
			choice = q.Options[0].Label
		}
		lines = append(lines, choice)
	}
	return strings.Join(lines, "\n")
}

// choiceQuestion is one question of an agent with its possible answers. Agents may ask several
// questions with one request.
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

func (l claudeLine) question(r Request) Question {
	id, input := l.RequestID, l.Request.Input
	q := Question{ID: id}
	questions := l.questions()
	var suggested []suggestion
	if len(questions) > 0 {
		q.Text, q.Options = combineQuestions(questions)
	} else {
		q.Text, q.Options = describeWholeCall(l.Request.Tool, input), permissionOptions()
		q.Tool, q.Input = l.Request.Tool, slices.Clone(input)
		suggested = suggestionsFor(q.Tool, l.Request.Suggestions)
		for _, s := range suggested {
			q.Suggestions = append(q.Suggestions, s.rule)
		}
	}
	q.Reply = func(a Answer) []byte {
		switch {
		case len(questions) > 0 && !a.Deny:
			return controlResponse(id, object{"behavior": "allow", "updatedInput": withAnswers(input, questions, a.Text)})
		case len(questions) == 0 && a.allows():
			response := object{"behavior": "allow", "updatedInput": orEmpty(input)}
			if a.Rule != "" && r.programMayAllow(a.Rule) {
				response["updatedPermissions"] = updatesFor(a.Rule, suggested)
			}
			return controlResponse(id, response)
		}
		return controlResponse(id, object{"behavior": "deny", "message": a.reason()})
	}
	return q
}

// combineQuestions returns one text for all questions. For a single question it also returns the
// options. For several questions it returns no options, because the user then answers in free text,
// with one line for each question.
func combineQuestions(questions []choiceQuestion) (text string, options []string) {
	if len(questions) == 1 {
		return forDecision(questions[0].Question), questions[0].labels()
	}
	var lines []string
	for i, q := range questions {
		line := fmt.Sprintf("%d. %s", i+1, forDecision(q.Question))
		if labels := q.labels(); len(labels) > 0 {
			line += " (" + strings.Join(labels, ", ") + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

// splitAnswer assigns one line of the text to each question. If the text does not have one line for
// each question, every question gets the whole text.
func splitAnswer(questions []choiceQuestion, text string) []string {
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

// withAnswers returns the input of the tool AskUserQuestion with the user's answers added. The
// parameter text contains the answers; [splitAnswer] assigns them to the questions.
func withAnswers(input json.RawMessage, questions []choiceQuestion, text string) object {
	members := map[string]json.RawMessage{}
	decode(input, &members)
	all := object{}
	for name, value := range members {
		all[name] = value
	}
	given := object{}
	for i, line := range splitAnswer(questions, text) {
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

func controlResponse(id string, response any) []byte {
	return encode(object{"type": "control_response", "response": object{"subtype": "success", "request_id": id, "response": response}})
}

func controlError(id, text string) []byte {
	return encode(object{"type": "control_response", "response": object{"subtype": "error", "request_id": id, "error": text}})
}
