package team

import (
	"fmt"

	"gaffer/statefile/jsontree"
)

// Picture is all that the documents of a session say.
type Picture struct {
	PM           PMState
	Groups       Groups
	Orchestrator OrchestratorState
	Messages     []Message // of every pair, in the order in which they were sent
}

// documents returns what each document is to say.
func (p Picture) documents() (map[Document]jsontree.Value, error) {
	if p.PM.SessionID == "" || p.PM.SessionID != p.Orchestrator.SessionID {
		return nil, &PictureError{fmt.Sprintf("its documents are of session %q and of session %q", p.PM.SessionID, p.Orchestrator.SessionID)}
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
			return nil, &PictureError{err.Error()}
		}
		doc, err := jsontree.Parse(data)
		if err != nil {
			return nil, &PictureError{err.Error()}
		}
		documents[d] = doc.Value()
	}
	return documents, nil
}

// byChannel returns the messages of each document. A message without an id
// could not be told from what others wrote.
func (p Picture) byChannel() (map[Document][]Message, error) {
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
			return nil, &PictureError{fmt.Sprintf("a message from %s to %s has no id", m.From, m.To)}
		}
		messages[c.doc] = append(messages[c.doc], m)
	}
	return messages, nil
}

// PictureError is a picture that documents cannot show.
type PictureError struct{ Problem string }

func (e *PictureError) Error() string { return "record session: " + e.Problem }

// Invalid marks the error as one about a document's content.
func (e *PictureError) Invalid() bool { return true }
