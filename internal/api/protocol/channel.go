package protocol

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// The kinds of the items that this package stores. An item is a row of the store with any JSON
// data.
const (
	kindChannel = "channel"
	kindNamed   = "channel.name" // maps the name of a channel to its id
	kindChain   = "chain"
	kindInput   = "input"
	kindNote    = "note"
	// kindCount is the kind of the item whose Seq is the number of notes that were ever created,
	// including deleted ones. Notes are the events of the protocol.
	kindCount     = "count"
	kindDismissed = "dismissed" // a record that a user has dismissed a notification
)

// The prefixes of run ids. The tasks of a channel belong to a run whose id is channelRun followed
// by the channel's id. The tasks of a chain belong to a run whose id is chainRun followed by the
// chain's id.
const (
	channelRun = "ch-"
	chainRun   = "chain-"
)

// channelLabel returns the label that all tasks of a channel have. An agent that claims a task of
// the channel gets a task with this label.
func channelLabel(channel string) string { return "channel:" + channel }

func channelKey(id string) store.ItemKey { return store.ItemKey{Kind: kindChannel, ID: id} }
func namedKey(name string) store.ItemKey { return store.ItemKey{Kind: kindNamed, ID: name} }
func chainKey(id string) store.ItemKey   { return store.ItemKey{Kind: kindChain, ID: id} }

// decodeItem decodes the JSON data of an item. Its error names the kind and the id of the item.
func decodeItem[W any](i store.Item) (row W, err error) {
	if err := json.Unmarshal(i.Data, &row); err != nil {
		return row, fmt.Errorf("stored %s %s: %w", i.Kind, i.ID, err)
	}
	return row, nil
}

// put stores row as the JSON data of the item with the given key, and returns the item. It replaces
// an existing item with this key.
func put(s *engine.Tx, key store.ItemKey, parent string, seq int64, row any) (store.Item, error) {
	data, err := json.Marshal(row)
	if err != nil {
		return store.Item{}, fmt.Errorf("%s: %w", key.Kind, err)
	}
	i := store.Item{ItemKey: key, Parent: parent, Seq: seq, Data: data, Made: s.Now()}
	s.PutItem(i)
	return i, nil
}

// channelService answers the requests about channels and chains.
type channelService struct{ db *database }

// Channels implements [server.Protocol].
func (d *channelService) Channels(ctx context.Context) (list []coordinator.Channel, err error) {
	err = d.db.store.Read(ctx, func(r store.Reader) (err error) {
		list, err = all[coordinator.Channel](r, kindChannel)
		return err
	})
	return list, err
}

// all returns the decoded data of all items of a kind. It leaves out items that have a parent.
func all[W any](r store.Reader, kind string) ([]W, error) {
	items, err := r.Items(kind, "", 0, math.MaxInt32)
	list := make([]W, 0, len(items))
	for _, i := range items {
		if err == nil {
			var row W
			row, err = decodeItem[W](i)
			list = append(list, row)
		}
	}
	return list, err
}

// Channel implements [server.Protocol].
func (d *channelService) Channel(ctx context.Context, name string) (c coordinator.Channel, err error) {
	var bad check
	if bad.name("channel", name, maxName); bad.err != nil {
		return c, NotFound(store.ErrNotFound, "channel", fmt.Sprintf("%.40q", name))
	}
	err = d.db.store.Read(ctx, func(r store.Reader) (err error) {
		c, err = channelByName(r, name)
		return NotFound(err, "channel", name)
	})
	return c, err
}

// channelByName returns the channel with this name. If there is none, it returns store.ErrNotFound.
func channelByName(r rows, name string) (c coordinator.Channel, err error) {
	id, err := channelIDByName(r, name)
	if err != nil {
		return c, err
	}
	return channelOf(r, id)
}

// channelIDByName returns the id of the channel with this name. If there is none, it returns
// store.ErrNotFound.
func channelIDByName(r rows, name string) (string, error) {
	i, err := r.Item(namedKey(name))
	if err != nil {
		return "", err
	}
	return decodeItem[string](i)
}

func channelOf(r rows, id string) (c coordinator.Channel, err error) {
	i, err := r.Item(channelKey(id))
	if err != nil {
		return c, err
	}
	return decodeItem[coordinator.Channel](i)
}

// AddChannel implements [server.Protocol].
func (d *channelService) AddChannel(ctx context.Context, by credential.Identity, c coordinator.Channel) (made coordinator.Channel, err error) {
	var bad check
	bad.name("name", c.Name, maxName)
	bad.text("description", c.Description, maxText)
	if err := cmp.Or(maySubmit(by), bad.err); err != nil {
		return made, err
	}
	err = d.db.do(ctx, by, func(s *engine.Tx) error {
		if made, err = channelByName(s, c.Name); !errors.Is(err, store.ErrNotFound) {
			return err
		}
		made = coordinator.Channel{ID: s.NewID(), Name: c.Name, Description: c.Description, CreatedAt: inUTC(s.Now())}
		return addChannel(s, made)
	})
	return made, err
}

func addChannel(s *engine.Tx, c coordinator.Channel) error {
	seq := s.NextSeq()
	if _, err := put(s, namedKey(c.Name), "", seq, c.ID); err != nil {
		return err
	}
	i, err := put(s, channelKey(c.ID), "", seq, c)
	if err != nil {
		return err
	}
	if err := s.Event(store.Event{Kind: "channel.added", Run: channelRun + c.ID}, i); err != nil {
		return err
	}
	_, err = s.Submit(engine.Submission{ID: channelRun + c.ID, Conducted: true, Plan: plan.Plan{Name: c.Name, Source: plan.SourceOrchestrate}})
	return err
}
