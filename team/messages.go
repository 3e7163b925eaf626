package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// Draft is a message from one role of the team to another that has not been sent yet.
type Draft struct {
	Group    string
	From, To Role
	Subject  string
	Body     Body // must have the type for messages from From to To, such as *Handoff; nil means an empty body
}

// Send appends the message d to the document for messages from d.From to d.To, and returns the
// message with its new id. It returns a [*PairError] if the protocol defines no messages from
// d.From to d.To, a [*BodyError] if the message violates the protocol, and a [*NoSessionError] if
// there is no session.
func (s *Store) Send(ctx context.Context, d Draft) (Message, error) {
	c, err := channelFor(d.From, d.To)
	if err != nil {
		return Message{}, err
	}
	if err := d.check(c); err != nil {
		return Message{}, err
	}
	m := Message{GroupID: d.Group, From: d.From, To: d.To, Subject: d.Subject, Body: d.Body}
	err = s.exclusive(ctx, func(now time.Time) error {
		if err := s.checkSession(); err != nil {
			return err
		}
		taken, err := s.messageIDs()
		if err != nil {
			return err
		}
		m.ID, m.Timestamp = freeMessageID(now, taken), At(now)
		if err := statefile.MkdirAll(s.opts.Host, filepath.Join(s.root, messagesFolder)); err != nil {
			return err
		}
		return s.update(ctx, c.doc, now, func(n *jsontree.Node) error {
			n.Array("messages").Append(m)
			return nil
		})
	})
	return m, err
}

func (s *Store) checkSession() error {
	docs, err := s.present()
	if err == nil && len(docs) == 0 {
		return &NoSessionError{Root: s.root}
	}
	return err
}

// check gives the draft an empty body if it has none. Then it checks the draft against the
// protocol's rules for messages of the channel c.
func (d *Draft) check(c channel) error {
	if d.Body == nil {
		d.Body = c.body()
	}
	if d.Group == "" || d.Subject == "" {
		return &BodyError{Problem: "a message needs a group and a subject"}
	}
	if fmt.Sprintf("%T", d.Body) != fmt.Sprintf("%T", c.body()) {
		return &BodyError{Problem: fmt.Sprintf("from %s to %s goes a %T, not a %T", c.from, c.to, c.body(), d.Body)}
	}
	data, err := marshal(Message{GroupID: d.Group, From: d.From, To: d.To, Timestamp: At(time.Unix(0, 0)), Subject: d.Subject, Body: d.Body})
	if err != nil {
		return err
	}
	doc, err := jsontree.Parse(data)
	if err != nil {
		return err
	}
	return c.check(doc.Value())
}

// check checks v against the protocol's rules for messages of this channel. v is a complete
// message, or only the fields of its body. check returns the first violation as a [*BodyError].
func (c channel) check(v jsontree.Value) error {
	var k checker
	k.check(v, rules(c.doc).field("messages").each, "")
	if len(k.found) > 0 {
		return &BodyError{Problem: k.found[0].At + ": " + k.found[0].Text}
	}
	return nil
}

// messageIDs returns the ids of all messages in the team's documents. It ignores a corrupt
// document, because the next write keeps a copy of that document and replaces it by a new one.
func (s *Store) messageIDs() (map[string]bool, error) {
	ids := map[string]bool{}
	for _, c := range channels {
		doc, err := s.files[c.doc].Load()
		var corrupt *statefile.CorruptError
		if errors.Is(err, fs.ErrNotExist) || errors.As(err, &corrupt) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, item := range doc.Value().Get("messages").Items() {
			ids[item.Get("id").Text()] = true
		}
	}
	return ids, nil
}

// freeMessageID returns a message id that is not in the set taken. The id contains the time in
// seconds. Later ids of the same second get increasing suffixes, so that they sort after the
// earlier ones.
func freeMessageID(now time.Time, taken map[string]bool) string {
	base := "msg_" + stampOf(now)
	id := base
	for n := 2; taken[id]; n++ {
		id = fmt.Sprintf("%s_%04d", base, n)
	}
	return id
}

// Filter selects messages. The zero value selects all messages.
type Filter struct {
	To     Role   // only messages to this role; "" for all roles
	Group  string // only messages about the group of tasks with this id; "" for all groups
	Unread bool   // only messages that were not read yet
}

func (f Filter) matches(m Message) bool {
	return (f.To == "" || f.To == m.To) && (f.Group == "" || f.Group == m.GroupID) && (!f.Unread || !m.Read)
}

// Messages returns the messages that match the filter, oldest first.
func (s *Store) Messages(ctx context.Context, f Filter) ([]Message, error) {
	if err := s.finishPending(ctx); err != nil {
		return nil, err
	}
	var messages []Message
	for _, c := range channels {
		doc, err := s.files[c.doc].Load()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, item := range doc.Value().Get("messages").Items() {
			if m := c.message(item); f.matches(m) {
				messages = append(messages, m)
			}
		}
	}
	slices.SortStableFunc(messages, func(a, b Message) int {
		if order := a.Timestamp.Compare(b.Timestamp.Time); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	return messages, nil
}

// Acknowledge marks a message as read. The parameter receiver may be empty if only one role has
// received a message with this id. A message that is already read stays unchanged.
func (s *Store) Acknowledge(ctx context.Context, id string, receiver Role) error {
	return s.exclusive(ctx, func(now time.Time) error {
		docs, err := s.documentsWith(ctx, id, receiver)
		if err != nil {
			return err
		}
		if len(docs) != 1 {
			return &MessageError{ID: id, In: docs}
		}
		return s.update(ctx, docs[0], now, func(n *jsontree.Node) error {
			for _, item := range n.Array("messages").Items() {
				if item.Get("id").Text() == id {
					item.Set("read", true)
				}
			}
			return nil
		})
	})
}

// documentsWith returns the documents that contain a message with this id. If receiver is not
// empty, documentsWith considers only messages to the role receiver.
func (s *Store) documentsWith(ctx context.Context, id string, receiver Role) ([]Document, error) {
	var docs []Document
	for _, c := range channels {
		doc, err := s.files[c.doc].Load()
		if errors.Is(err, fs.ErrNotExist) || (receiver != "" && receiver != c.to) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, item := range doc.Value().Get("messages").Items() {
			if id != "" && item.Get("id").Text() == id && !slices.Contains(docs, c.doc) {
				docs = append(docs, c.doc)
			}
		}
	}
	return docs, ctx.Err()
}

// MessageError reports that no message has the id ID, or that messages in several documents have
// this id. The field In lists these documents.
type MessageError struct {
	ID string
	In []Document
}

func (e *MessageError) Error() string {
	if len(e.In) == 0 {
		return fmt.Sprintf("message %q: there is none with this id", e.ID)
	}
	return fmt.Sprintf("message %q: there is one in each of %v", e.ID, e.In)
}

// NotFound reports whether no message has the id.
func (e *MessageError) NotFound() bool { return len(e.In) == 0 }

// Conflict reports whether messages in several documents have the id.
func (e *MessageError) Conflict() bool { return len(e.In) > 0 }

// Hint tells the user what to do next.
func (e *MessageError) Hint() string {
	if len(e.In) == 0 {
		return "'gaffer team message list' shows them"
	}
	return "name the receiver with --to"
}

// BodyError reports a message that violates the protocol.
type BodyError struct{ Problem string }

func (e *BodyError) Error() string { return "message: " + e.Problem }

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *BodyError) Usage() bool { return true }
