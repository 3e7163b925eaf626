package viewers

import (
	"context"
	"slices"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

const maxEvent = 64 << 10 // maximum length of an event, in bytes

// AddEvent adds an event to a project's feed, the list of events in the workflow state, and returns
// the event's kind. If the event has a timestamp and the feed already has an equal event, AddEvent
// adds nothing. This happens, for example, if a client sends an event twice.
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

// draftOf parses an event that a client sent. dated reports whether it has a timestamp.
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
