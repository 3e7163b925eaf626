package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/team"
)

type sendArgs struct {
	From    string `json:"from,omitempty" jsonschema:"the sending role; your own if you have one"`
	To      string `json:"to,omitempty" jsonschema:"the receiving role; optional, because each role sends to one role only"`
	Group   string `json:"group" jsonschema:"the id of the group"`
	Subject string `json:"subject" jsonschema:"the subject, in one line"`
	Body    object `json:"body,omitzero" jsonschema:"the fields of the message's body"`
}

type sendResult struct {
	ID   string `json:"id" jsonschema:"the message's id"`
	From string `json:"from"`
	To   string `json:"to"`
}

func (s *Server) messageSend() tool {
	return define(s, toolDoc{
		name: "message_send", title: "Send a message in the team", need: rightSend,
		text: "Send a message to the next role of the team (coordination/messages): from developer to qa_expert, from qa_expert to tech_lead, from tech_lead to developer. Use it to report a group's work, test results or a review. Fields of the body:\n" +
			bodyFields(),
		example: `{"from": "developer", "group": "A", "subject": "Ready for QA", "body": {"status": "READY_FOR_QA", "context": {"files_modified": ["auth.py"], "notes": "2 new endpoints"}}}`,
		shape: func(p map[string]*jsonschema.Schema) {
			p["from"].Enum, p["to"].Enum = oneOf(members()...), oneOf(members()...)
			p["group"].MaxLength, p["subject"].MaxLength = ptr(200), ptr(1000)
		},
	}, func(ctx context.Context, _ *sdk.CallToolRequest, a sendArgs) (r sendResult, text string, err error) {
		from, to, err := s.opts.Caller.route(a.From, a.To)
		if err != nil {
			return r, "", err
		}
		d := team.Draft{Group: a.Group, From: from, To: to, Subject: a.Subject}
		if d.Body, err = team.ParseBody(from, to, a.Body.RawMessage); err != nil {
			return r, "", err
		}
		m, err := s.opts.Team.Send(ctx, d)
		return sendResult{m.ID, string(from), string(to)}, fmt.Sprintf("sent %s to %s", m.ID, to), err
	})
}

// route returns the roles of the sender and the receiver of a message in a team of agents. The
// parameters sender and receiver are the roles that the call names; each may be empty. A caller
// with the role [Person] must name the sender. Any other caller sends with its own role. If
// receiver is empty, the receiver is the role to which the sender's role sends messages.
func (c Caller) route(sender, receiver string) (team.Role, team.Role, error) {
	switch {
	case sender == "" && c.Role == Person:
		return "", "", &RoleError{Problem: "of the sender is not named", Next: "give from: " + orList(stringsOf(members()))}
	case sender == "":
		sender = string(c.Role)
	case c.Role != Person && sender != string(c.Role):
		return "", "", &RefusedError{Role: c.Role, Tool: "message_send as " + sender, Why: "a role cannot send messages for another role", Next: "leave from out, or use " + string(c.Role)}
	}
	for _, p := range team.Pairs() {
		if receiver == "" && string(p[0]) == sender {
			receiver = string(p[1])
		}
	}
	return team.Role(sender), team.Role(receiver), nil
}

// members returns the roles in a team of agents. Each of them sends and receives messages.
func members() (roles []team.Role) {
	for _, p := range team.Pairs() {
		roles = append(roles, p[0])
	}
	return roles
}

func stringsOf[T ~string](list []T) []string {
	text := make([]string, len(list))
	for i, w := range list {
		text[i] = string(w)
	}
	return text
}

func bodyFields() string {
	var lines []string
	for _, p := range team.Pairs() {
		fields, err := team.BodyFields(p[0], p[1])
		if err != nil {
			panic("mcp: " + err.Error()) // cannot happen: the pair comes from team.Pairs
		}
		lines = append(lines, fmt.Sprintf("- of a %s: %s", p[0], strings.Join(fields, ", ")))
	}
	return strings.Join(lines, "\n")
}

type messagesArgs struct {
	To       string `json:"to,omitempty" jsonschema:"only messages to this role; if absent, to your own role, or to all if you have none"`
	Group    string `json:"group,omitempty" jsonschema:"only messages about the group of this id"`
	All      bool   `json:"all,omitempty" jsonschema:"also messages that were read before"`
	MarkRead bool   `json:"mark_read,omitempty" jsonschema:"mark the returned messages as read"`
	Limit    int    `json:"limit,omitempty" jsonschema:"maximum number; 50 if absent"`
}

type messagesResult struct {
	Messages []team.Message `json:"messages" jsonschema:"the oldest first"`
	LeftOut  int            `json:"left_out" jsonschema:"how many more there are"`
	TooLong  []string       `json:"too_long,omitempty" jsonschema:"ids of messages that are too long for any answer, so that only the command gaffer team message list shows them"`
}

func (s *Server) messageRead() tool {
	return define(s, toolDoc{
		name: "message_read", title: "Read messages of the team", need: rightRead,
		text:    "Read the unread messages of the team (coordination/messages). Use it when you begin to work on a group: the developer's message to QA, QA's report and the tech lead's review are there.",
		example: `{"to": "qa_expert", "group": "A", "mark_read": true}`,
		shape: func(p map[string]*jsonschema.Schema) {
			limitRange(200)(p)
			p["to"].Enum = oneOf(members()...)
		},
	}, s.readMessages)
}

func (s *Server) readMessages(ctx context.Context, _ *sdk.CallToolRequest, a messagesArgs) (r messagesResult, text string, err error) {
	c := s.opts.Caller
	if a.To == "" && c.isMember() {
		a.To = string(c.Role)
	}
	if a.MarkRead && c.Role != Person && a.To != string(c.Role) {
		return r, "", &RefusedError{Role: c.Role, Tool: "message_read with mark_read", Why: "messages are marked by whom they are for", Next: "leave mark_read out"}
	}
	list, err := s.opts.Team.Messages(ctx, team.Filter{To: team.Role(a.To), Group: a.Group, Unread: !a.All})
	if err != nil {
		return r, "", err
	}
	if r.Messages, r.TooLong, err = fitting(list[:min(len(list), limitOrDefault(a.Limit))]); err != nil {
		return r, "", err
	}
	r.LeftOut = len(list) - len(r.Messages)
	for _, m := range r.Messages {
		if !a.MarkRead || m.Read || m.ID == "" { // without an id a message cannot be marked as read
			continue
		}
		if err := s.opts.Team.Acknowledge(ctx, m.ID, m.To); err != nil {
			return r, "", err
		}
	}
	return r, countText(len(list), "message") + ":", nil
}

// fitting returns the first messages of the list that fit into one answer to a tool call. The agent
// does not see the remaining messages, so the caller must not mark them as read. A message that is
// too large for any answer does not block later messages: fitting skips it and returns its id.
func fitting(list []team.Message) (fit []team.Message, tooLong []string, err error) {
	const limit = maxAnswer - 16<<10 // leaves room for the JSON around the messages, and for ids
	fit = []team.Message{}
	left := limit
	for _, m := range list {
		text, err := json.Marshal(m)
		if err != nil {
			return nil, nil, err
		}
		if len(text) >= limit {
			tooLong = append(tooLong, m.ID)
			continue
		}
		if left -= len(text) + 1; left < 0 {
			break
		}
		fit = append(fit, m)
	}
	return fit, tooLong, nil
}

// isMember reports whether the caller is the developer, the QA expert or the tech lead of a team of
// agents. These are the roles that receive messages.
func (c Caller) isMember() bool {
	for _, r := range members() {
		if c.Role == Role(r) {
			return true
		}
	}
	return false
}
