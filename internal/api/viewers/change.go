package viewers

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

const (
	maxEvent   = 64 << 10 // bytes of an event
	maxContent = 64 << 10 // bytes of an idea
)

// AddEvent adds an event to the feed of a project and returns its kind. If the event
// has a timestamp and is already in the feed, AddEvent does nothing: the event was sent
// twice, or its sender has also written it to the file.
func (v *workflowService) AddEvent(ctx context.Context, ref string, body []byte) (kind string, err error) {
	l, err := v.projects.findToChange(ctx, ref)
	if err != nil {
		return "", err
	}
	draft, dated, err := draftOf(body)
	if err != nil {
		return "", err
	}
	event, err := draft.Event(v.now())
	if err != nil {
		return "", clientError(err)
	}
	said := digestOf(event.Raw())
	err = l.store.Record(ctx, func(root *jsontree.Node) ([]jsontree.Value, error) {
		if f, _ := feedOf(root.Value()); dated && slices.Contains(f.digests, said) {
			return nil, nil
		}
		return []jsontree.Value{event}, nil
	})
	return draft.Kind, clientError(err)
}

// draftOf parses an event. dated reports whether it has a timestamp.
func draftOf(body []byte) (d workflow.Draft, dated bool, err error) {
	if len(body) > maxEvent {
		return d, false, refuse(invalid, "invalid_request", "the event has %d bytes: want at most %d", len(body), maxEvent)
	}
	doc, err := jsontree.Parse(body)
	if err != nil {
		return d, false, refuse(invalid, "bad_json", "%s", err.Error())
	}
	v := doc.Value()
	if v.Kind() != jsontree.Object {
		return d, false, refuse(invalid, "bad_json", "the event is %s where an object should be", v.Kind())
	}
	d.Kind = v.Get("kind").Text()
	for name, value := range v.Members() {
		switch {
		case name == "kind":
		case name == "timestamp" && value.Absent():
		default:
			dated = dated || name == "timestamp"
			d.Fields = append(d.Fields, workflow.Field{Name: name, Value: value})
		}
	}
	return d, dated, nil
}

// Inbox returns the items of a project's inbox unchanged.
func (v *workflowService) Inbox(ctx context.Context, ref string) ([]json.RawMessage, error) {
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	items, err := l.store.Inbox().List()
	if err != nil {
		return nil, clientError(err)
	}
	list := []json.RawMessage{}
	for _, i := range items {
		list = append(list, raw(i.Raw))
	}
	return list, nil
}

// AddItem adds an idea to a project's inbox.
func (v *workflowService) AddItem(ctx context.Context, ref, kind, content string) (json.RawMessage, error) {
	l, err := v.projects.findToChange(ctx, ref)
	if err != nil {
		return nil, err
	}
	if len(content) > maxContent {
		return nil, refuse(invalid, "invalid_request", "the content has %d bytes: want at most %d", len(content), maxContent)
	}
	item, err := l.store.Inbox().Add(ctx, workflow.ItemType(kind), strings.TrimSpace(content))
	return raw(item.Raw), clientError(err)
}

// ItemChange is a status change of an inbox item.
type ItemChange struct {
	Status     string `json:"status"`     // processing, processed or error
	ConsumedBy string `json:"consumedBy"` // what used the idea of a processed item
	Error      string `json:"error"`      // why it could not be processed
}

// ChangeItem changes the status of an item in a project's inbox.
func (v *workflowService) ChangeItem(ctx context.Context, ref, id string, c ItemChange) (json.RawMessage, error) {
	l, err := v.projects.findToChange(ctx, ref)
	if err != nil {
		return nil, err
	}
	if len(c.ConsumedBy)+len(c.Error) > maxContent {
		return nil, refuse(invalid, "invalid_request", "the texts have more than %d bytes", maxContent)
	}
	inbox := l.store.Inbox()
	var item workflow.Item
	switch workflow.ItemStatus(c.Status) {
	case workflow.Processing:
		item, err = inbox.Take(ctx, workflow.Claim{ID: id})
	case workflow.Processed:
		item, err = inbox.Done(ctx, id, c.ConsumedBy)
	case workflow.ItemError:
		item, err = inbox.Fail(ctx, id, c.Error)
	default:
		return nil, refuse(invalid, "invalid_request", "status %.60q: want processing, processed or error", c.Status)
	}
	return raw(item.Raw), clientError(err)
}

// DropItem removes an item from a project's inbox.
func (v *workflowService) DropItem(ctx context.Context, ref, id string) error {
	l, err := v.projects.findToChange(ctx, ref)
	if err != nil {
		return err
	}
	_, err = l.store.Inbox().Dismiss(ctx, id)
	return clientError(err)
}
