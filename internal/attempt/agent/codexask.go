package agent

import (
	"cmp"
	"encoding/json"
	"slices"

	"gaffer/internal/engine/permission"
)

// asked handles a request of the app server. The server continues only after an answer,
// so unknown requests are rejected immediately.
func (c *serverReader) asked(l serverLine, p serverParams) []Signal {
	q, ok := c.question(l, p)
	if !ok {
		return c.refuse(l, p)
	}
	q.ID = string(l.ID)
	switch {
	case c.request.allowsAll() && l.Method != "item/tool/requestUserInput":
		return []Signal{{Reply: q.Reply(Answer{Text: permissionOptions()[0]}), ReplyTo: q.ID}}
	case !c.request.asks():
		return c.refuse(l, p)
	}
	return []Signal{{State: Waiting, Ask: &q, Doing: shortLine(q.Text)}}
}

// refuse answers a request without asking the user. The answer is a denial, or a "not supported"
// error if gaffer does not know this kind of request.
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
		tool, input := c.call(l.Method, p)
		return Question{
			Text: withReason(c.describe(p), p.Reason), Options: permissionOptions(), Tool: tool, Input: input,
			Reply: c.approvalReply(l.ID),
		}, true
	case "item/permissions/requestApproval":
		return Question{
			Tool: "RequestPermissions", Input: slices.Clone(p.Permissions),
			Text: withReason(describeWholeCall("more permissions", p.Permissions), p.Reason), Options: permissionOptions(),
			Reply: decisionReply(l.ID, object{"permissions": orEmpty(p.Permissions), "scope": "turn"}, object{"permissions": object{}, "scope": "turn"}),
		}, true
	case "mcpServer/elicitation/request":
		return Question{
			Tool: "Elicitation",
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

// describe describes the action that a request asks permission for. If the request has only the id
// of the action, describe looks the action up in c.items.
func (c *serverReader) describe(p serverParams) string {
	if p.Command != "" {
		return forDecision("shell: " + withoutShell(p.Command))
	}
	if what := c.items[p.ItemID].describe(); what != "" {
		return forDecision(what)
	}
	return "a change outside the sandbox"
}

// call returns the tool call that a request is about. It uses the tool names of Claude Code, so
// that the same permission rules apply to both programs.
func (c *serverReader) call(method string, p serverParams) (tool string, input json.RawMessage) {
	item := c.items[p.ItemID]
	if method == "item/fileChange/requestApproval" {
		paths := []string{}
		for _, change := range item.Changes {
			paths = append(paths, change.Path)
		}
		if len(paths) == 0 {
			paths = []string{""} // an empty path stands for an unknown file; no rule allows it
		}
		return "Edit", encode(object{"paths": paths})
	}
	command := cmp.Or(p.Command, item.Command)
	if script, ok := permission.Script(command); ok {
		command = script
	}
	return "Bash", encode(object{"command": command, "cwd": p.Folder})
}

// approvalReply returns the function that answers a request to run a command or to change files. If
// the user has also made a rule with the answer, the reply tells Codex not to ask for the same
// action again until Codex exits.
func (c *serverReader) approvalReply(id json.RawMessage) func(Answer) []byte {
	id = slices.Clone(id)
	return func(a Answer) []byte {
		decision := "decline"
		switch {
		case a.allows() && a.Rule != "":
			decision = "acceptForSession"
		case a.allows():
			decision = "accept"
		}
		return encode(object{"id": id, "result": object{"decision": decision}})
	}
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
