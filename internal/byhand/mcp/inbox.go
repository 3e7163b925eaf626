package mcp

import (
	"context"
	"errors"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/workflow"
)

type itemsArgs struct {
	Status string `json:"status,omitempty" jsonschema:"only items with this status; pending if absent, all if it is *"`
	Limit  int    `json:"limit,omitempty" jsonschema:"maximum number; 50 if absent"`
}

type itemsResult struct {
	Items   []object `json:"items" jsonschema:"the oldest first"`
	LeftOut int      `json:"left_out" jsonschema:"how many more there are"`
}

func (s *Server) inboxList() tool {
	return define(s, toolDoc{
		name: "inbox_list", title: "List the inbox", need: rightRead,
		text:    "List the ideas, links and features that wait in the project's inbox. Use it to see what there is; inbox_take takes one to work on it, so that no other agent does.",
		example: `{"status": "pending", "limit": 10}`,
		shape: func(p map[string]*jsonschema.Schema) {
			limitRange(200)(p)
			p["status"].Enum = append(oneOf(workflow.ItemStatuses()...), "*")
		},
	}, func(_ context.Context, _ *sdk.CallToolRequest, a itemsArgs) (r itemsResult, text string, err error) {
		items, err := s.opts.Workflow.Inbox().List()
		if err != nil {
			return r, "", err
		}
		if a.Status == "" {
			a.Status = string(workflow.Pending)
		}
		r.Items = []object{}
		for _, item := range items {
			switch {
			case a.Status != "*" && string(item.Status) != a.Status:
			case len(r.Items) < limitOrDefault(a.Limit):
				r.Items = append(r.Items, object{item.Raw.Raw()})
			default:
				r.LeftOut++
			}
		}
		return r, countText(len(r.Items)+r.LeftOut, "item") + ":", nil
	})
}

type addArgs struct {
	Type    string `json:"type" jsonschema:"what it asks for: evolve for a change, reference for a link, feature for something new"`
	Content string `json:"content" jsonschema:"the idea, the link or the feature, in words that are clear without this conversation"`
}

type itemResult struct {
	Item object `json:"item" jsonschema:"the item as stored in the inbox"`
}

func (s *Server) inboxAdd() tool {
	return define(s, toolDoc{
		name: "inbox_add", title: "Add to the inbox", need: rightNote,
		text:    "Leave an idea, a link or a feature in the project's inbox for later. Use it for things that you notice and that are not part of your task, instead of doing them now.",
		example: `{"type": "evolve", "content": "Make onboarding faster: the second page asks for what the first knows"}`,
		shape:   func(p map[string]*jsonschema.Schema) { p["type"].Enum = oneOf(workflow.ItemTypes()...) },
	}, func(ctx context.Context, _ *sdk.CallToolRequest, a addArgs) (r itemResult, text string, err error) {
		item, err := s.opts.Workflow.Inbox().Add(ctx, workflow.ItemType(a.Type), a.Content)
		r.Item.RawMessage = item.Raw.Raw()
		return r, "added " + item.ID, err
	})
}

type takeArgs struct {
	ID   string `json:"id,omitempty" jsonschema:"the id of the item; if absent, the oldest available one"`
	Type string `json:"type,omitempty" jsonschema:"only an item of this type"`
}

type takeResult struct {
	Taken bool   `json:"taken" jsonschema:"false if no item is available"`
	Item  object `json:"item,omitzero" jsonschema:"the item as stored in the inbox"`
}

func (s *Server) inboxTake() tool {
	return define(s, toolDoc{
		name: "inbox_take", title: "Take from the inbox", need: rightTake,
		text:    "Take an item from the inbox to work on it. No other agent gets it until you call inbox_finish, or until this server ends. Use it when you are asked to work on the inbox.",
		example: `{"type": "evolve"}`,
		shape:   func(p map[string]*jsonschema.Schema) { p["type"].Enum = oneOf(workflow.ItemTypes()...) },
	}, func(ctx context.Context, _ *sdk.CallToolRequest, a takeArgs) (r takeResult, text string, err error) {
		item, err := s.opts.Workflow.Inbox().Take(ctx, workflow.Claim{ID: a.ID, Type: workflow.ItemType(a.Type), Owner: &s.opts.Self})
		if none, ok := errors.AsType[*workflow.NotFoundError](err); ok && a.ID == "" {
			return r, none.What, nil
		}
		r.Taken, r.Item.RawMessage = true, item.Raw.Raw()
		return r, "took " + item.ID + ": " + item.Content, err
	})
}

type concludeArgs struct {
	ID         string `json:"id" jsonschema:"the item's id"`
	ConsumedBy string `json:"consumed_by,omitempty" jsonschema:"what used the item, such as a section of the spec or a commit"`
	Error      string `json:"error,omitempty" jsonschema:"why the item could not be done; if absent, the item is done"`
}

func (s *Server) inboxFinish() tool {
	return define(s, toolDoc{
		name: "inbox_finish", title: "Finish an item", need: rightTake,
		text:    "Say that an item of the inbox is done, or with error that it could not be done. Use it for what you took with inbox_take; an item that another live process has taken is refused.",
		example: `{"id": "inbox-1708012345678-a1b2c3", "consumed_by": "section 2.2"}`,
	}, func(ctx context.Context, _ *sdk.CallToolRequest, a concludeArgs) (r itemResult, text string, err error) {
		inbox := s.opts.Workflow.Inbox().As(s.opts.Self)
		var item workflow.Item
		if a.Error != "" {
			item, err = inbox.Fail(ctx, a.ID, a.Error)
		} else {
			item, err = inbox.Done(ctx, a.ID, a.ConsumedBy)
		}
		r.Item.RawMessage = item.Raw.Raw()
		return r, item.ID + " is " + string(item.Status), err
	})
}
