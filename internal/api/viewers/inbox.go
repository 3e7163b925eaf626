package viewers

import (
	"context"
	"encoding/json"
	"strings"

	"gaffer/workflow"
)

const maxContent = 64 << 10 // maximum length of an idea, in bytes

// Inbox returns the items of a project's inbox, which are ideas of the user, as they are in the
// inbox file.
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

// AddItem adds an idea to a project's inbox, and returns the new item.
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

// ItemChange is a request to change the status of an item in a project's inbox.
type ItemChange struct {
	Status     string `json:"status"`     // processing, processed or error
	ConsumedBy string `json:"consumedBy"` // what has used the idea; only with status processed
	Error      string `json:"error"`      // why the idea could not be processed; only with status error
}

// ChangeItem changes the status of an item in a project's inbox, and returns the changed item.
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
