package team

import (
	"fmt"

	"gaffer/statefile/jsontree"
)

// Contents is the complete content of the JSON documents of a team's session.
type Contents struct {
	PM           PMState
	Groups       Groups
	Orchestrator OrchestratorState
	Messages     []Message // all messages between the roles, in the order in which they were sent
}

// documents returns the JSON content of each of the six documents of a session. It returns a
// [*ContentsError] if the session ids in p.PM and p.Orchestrator are empty or differ.
func (p Contents) documents() (map[Document]jsontree.Value, error) {
	if p.PM.SessionID == "" || p.PM.SessionID != p.Orchestrator.SessionID {
		return nil, &ContentsError{fmt.Sprintf("its documents are of session %q and of session %q", p.PM.SessionID, p.Orchestrator.SessionID)}
	}
	contents := map[Document]any{PMStateDoc: p.PM, GroupStatusDoc: p.Groups, OrchestratorDoc: p.Orchestrator}
	messages, err := p.byChannel()
	if err != nil {
		return nil, err
	}
	for d, m := range messages {
		contents[d] = struct {
			Messages List[Message] `json:"messages"`
		}{m}
	}
	documents := map[Document]jsontree.Value{}
	for d, content := range contents {
		data, err := marshal(content)
		if err != nil {
			return nil, &ContentsError{err.Error()}
		}
		doc, err := jsontree.Parse(data)
		if err != nil {
			return nil, &ContentsError{err.Error()}
		}
		documents[d] = doc.Value()
	}
	return documents, nil
}

// byChannel returns the messages for each of the message documents. It returns an error if a
// message has no id, because gaffer could then not distinguish it from messages that other programs
// have written.
func (p Contents) byChannel() (map[Document][]Message, error) {
	messages := map[Document][]Message{}
	for _, c := range channels {
		messages[c.doc] = nil
	}
	for _, m := range p.Messages {
		c, err := channelFor(m.From, m.To)
		if err != nil {
			return nil, err
		}
		if m.ID == "" {
			return nil, &ContentsError{fmt.Sprintf("a message from %s to %s has no id", m.From, m.To)}
		}
		messages[c.doc] = append(messages[c.doc], m)
	}
	return messages, nil
}

// ContentsError reports that the given Contents cannot be written to the documents of a session.
type ContentsError struct{ Problem string }

func (e *ContentsError) Error() string { return "record session: " + e.Problem }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *ContentsError) Invalid() bool { return true }
