package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// kindToken is the kind of the items that contain access tokens.
const kindToken = "token"

// tokens stores access tokens as items, which are rows of the store.
type tokens struct{ db *database }

func tokenKey(id string) store.ItemKey { return store.ItemKey{Kind: kindToken, ID: id} }

func (t tokens) List(ctx context.Context) (list []credential.Token, err error) {
	err = t.db.store.Read(ctx, func(r store.Reader) (err error) {
		list, err = all[credential.Token](r, kindToken)
		return err
	})
	return list, err
}

func (t tokens) Put(ctx context.Context, row credential.Token) error {
	return t.do(ctx, row.ID, func(s *engine.Tx) error {
		if _, err := put(s, tokenKey(row.ID), "", s.NextSeq(), row); err != nil {
			return err
		}
		return s.Event(store.Event{Kind: "token.made", Why: fmt.Sprintf("%s %q, %s", row.ID, row.Name, row.Role)}, nil)
	})
}

func (t tokens) Drop(ctx context.Context, id string) error {
	return t.do(ctx, id, func(s *engine.Tx) error {
		if _, err := s.Item(tokenKey(id)); errors.Is(err, store.ErrNotFound) {
			return nil
		}
		s.DropItem(tokenKey(id))
		return s.Event(store.Event{Kind: "token.revoked", Why: id}, nil)
	})
}

func (t tokens) Touch(ctx context.Context, id string, at time.Time) error {
	return t.do(ctx, id, func(s *engine.Tx) error {
		item, err := s.Item(tokenKey(id))
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		row, err := decodeItem[credential.Token](item)
		if err != nil {
			return err
		}
		row.Used = at
		_, err = put(s, item.ItemKey, item.Parent, item.Seq, row)
		return err
	})
}

func (t tokens) do(ctx context.Context, id string, do func(*engine.Tx) error) error {
	return t.db.engine.Do(ctx, "", do)
}
