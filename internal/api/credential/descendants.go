package credential

import (
	"context"
	"fmt"
	"slices"
)

// maxDescendants is how many valid tokens may descend from one root, which is a token without a
// parent. A token descends from the root if it was created from the root or from another
// descendant.
const maxDescendants = 50

// deleteOldestDescendant makes room for a new token that is created from the token with the id
// parent. If maxDescendants valid tokens already descend from the root of parent, it deletes the
// oldest of them that is neither parent nor an ancestor of parent. If there is no such token, it
// returns an error.
func (b *TokenStore) deleteOldestDescendant(ctx context.Context, parent string) error {
	all, err := b.List(ctx)
	if err != nil {
		return err
	}
	byID := indexed(all)
	line := ancestors(byID, parent)
	kin := slices.DeleteFunc(all, func(r Token) bool {
		from := ancestors(byID, r.ID)
		return len(from) < 2 || from[len(from)-1] != line[len(line)-1]
	})
	if len(kin) < maxDescendants {
		return nil
	}
	for _, r := range kin {
		if !slices.Contains(line, r.ID) {
			return b.rows.Drop(ctx, r.ID)
		}
	}
	return &Error{kind: taken, text: fmt.Sprintf("%d tokens were made one from the other: make the next from the first", len(kin))}
}

// ancestors returns the ids of a token, of its parent, and so on up to the token without a parent.
func ancestors(byID map[string]Token, id string) []string {
	line := []string{id}
	for r, ok := byID[id]; ok && r.Parent != "" && !slices.Contains(line, r.Parent); r, ok = byID[r.Parent] {
		line = append(line, r.Parent)
	}
	return line
}

func indexed(rows []Token) map[string]Token {
	byID := make(map[string]Token, len(rows))
	for _, r := range rows {
		byID[r.ID] = r
	}
	return byID
}
