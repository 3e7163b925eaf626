package agent

import (
	"encoding/json"
	"slices"
)

// asked handles a request of the app server. The server continues only after an answer,
// so unknown requests are rejected immediately.
func (c *serverReader) asked(l serverLine, p serverParams) []Signal {
	q, ok := c.question(l, p)
	if !ok {
		return c.refuse(l, p)
	}
	q.ID = string(l.ID)
	return []Signal{{State: Waiting, Ask: &q, Doing: shortLine(q.Text)}}
}

// refuse answers a request without asking the user: with a denial, or with a "not
// supported" error.
func (c *serverReader) refuse(l serverLine, p serverParams) []Signal {
	refusal := encode(object{"id": l.ID, "error": object{"code": -32601, "message": "gaffer does not support " + l.Method}})
	if q, ok := c.question(l, p); ok {
		refusal = q.Reply(Answer{Deny: true})
	}
	return []Signal{{Reply: refusal, ReplyTo: string(l.ID)}}
}

func (c *serverReader) question(l serverLine, p serverParams) (Question, bool) {
	switch l.Method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		return Question{
			Text: withReason(c.describe(p), p.Reason), Options: permissionOptions(),
			Reply: decisionReply(l.ID, object{"decision": "accept"}, object{"decision": "decline"}),
		}, true
	case "item/permissions/requestApproval":
		return Question{
			Text: withReason(describeWholeCall("more permissions", p.Permissions), p.Reason), Options: permissionOptions(),
			Reply: decisionReply(l.ID, object{"permissions": orEmpty(p.Permissions), "scope": "turn"}, object{"permissions": object{}, "scope": "turn"}),
		}, true
	case "mcpServer/elicitation/request":
		return Question{
			Text: forDecision(p.Message), Options: permissionOptions(),
			Reply: decisionReply(l.ID, object{"action": "accept", "content": object{}}, object{"action": "decline"}),
		}, true
	case "item/tool/requestUserInput":
		return userInput(l.ID, p.Questions), len(p.Questions) > 0
	}
	return Question{}, false
}

func withReason(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + " (" + forDecision(reason) + ")"
}

// describe describes the action that a request asks permission for. If the request only names an
// item, describe looks that item up.
func (c *serverReader) describe(p serverParams) string {
	if p.Command != "" {
		return forDecision("shell: " + withoutShell(p.Command))
	}
	if what := c.items[p.ItemID].describe(); what != "" {
		return forDecision(what)
	}
	return "a change outside the sandbox"
}

func decisionReply(id json.RawMessage, yes, no object) func(Answer) []byte {
	id = slices.Clone(id)
	return func(a Answer) []byte {
		if a.allows() {
			return encode(object{"id": id, "result": yes})
		}
		return encode(object{"id": id, "result": no})
	}
}

func userInput(id json.RawMessage, questions []choiceQuestion) Question {
	id = slices.Clone(id)
	text, options := combineQuestions(questions)
	return Question{Text: text, Options: options, Reply: func(a Answer) []byte {
		given := object{}
		for i, line := range splitAnswer(questions, a.Text) {
			if !a.Deny {
				given[questions[i].ID] = object{"answers": []string{line}}
			}
		}
		return encode(object{"id": id, "result": object{"answers": given}})
	}}
}
