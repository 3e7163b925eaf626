package team

import (
	"fmt"

	"gaffer/statefile/jsontree"
)

// Contents is the complete content of a session's documents.
type Contents struct {
	PM           PMState
	Groups       Groups
	Orchestrator OrchestratorState
	Messages     []Message // messages of all channels, in the order in which they were sent
}

// documents returns the JSON content for each of the six documents. It returns a [*ContentsError]
// if the session ids in p.PM and p.Orchestrator are empty or differ.
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

// byChannel returns the messages of each message document. It returns an error if a message has no
// id, because gaffer could not distinguish it from messages of other programs.
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

// ContentsError reports contents that cannot be written to documents.
type ContentsError struct{ Problem string }

func (e *ContentsError) Error() string { return "record session: " + e.Problem }

// Invalid reports true: the contents are invalid.
func (e *ContentsError) Invalid() bool { return true }
