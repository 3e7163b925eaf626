package credential

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"gaffer/internal/pause"
)

const (
	// fresh is for how long rows are believed: so late a token that another
	// process has revoked still works.
	fresh = 2 * time.Second
	// again is how often unknown tokens have the rows read again: whoever shows
	// one waits so long, in case another process has just made it.
	again = 200 * time.Millisecond
	// touched is how old the time of the last use may be.
	touched = time.Minute
)

// Book is the tokens of a coordinator. It is safe for concurrent use. Several
// processes may have books of the same rows.
type Book struct {
	rows   Rows
	now    func() time.Time
	random io.Reader
	wait   func(ctx context.Context, d time.Duration) bool

	loading sync.Mutex // held by the one who reads the rows

	mu     sync.Mutex
	byHash map[string]Row // by the first half of the hash
	byID   map[string]Row
	loaded time.Time
	used   map[string]time.Time // not yet written
}

// NewBook returns a book of rows.
func NewBook(rows Rows, now func() time.Time, random io.Reader) *Book {
	return &Book{rows: rows, now: now, random: random, wait: pause.For, used: map[string]time.Time{}}
}

// New is a token to be made.
type New struct {
	Role   Role
	Name   string
	Parent string        // the id of a token that the new one ends with, or empty; of those it can have so many
	Life   time.Duration // 0 for ever
	Limits               // of a worker's token
}

// Create makes a token. It is not kept and cannot be had again.
func (b *Book) Create(ctx context.Context, n New) (text string, row Row, err error) {
	return b.create(ctx, n, func(string) error { return nil })
}

// create has the text of a token kept before it works.
func (b *Book) create(ctx context.Context, n New, keep func(text string) error) (text string, row Row, err error) {
	if err := check(n.Role, n.Name, n.Limits); err != nil {
		return "", Row{}, err
	}
	now := b.now().UTC()
	row = Row{Name: n.Name, Role: n.Role, Limits: n.Limits, Parent: n.Parent, Created: now}
	if !n.empty() {
		row.Role = limitedWorker
	}
	if n.Life > 0 {
		row.Expires = now.Add(n.Life)
	}
	if n.Parent != "" {
		if err := b.room(ctx, n.Parent); err != nil {
			return "", Row{}, fmt.Errorf("make room for the new token: %w", err)
		}
	}
	if text, row, err = generate(b.random, row); err != nil {
		return "", Row{}, err
	}
	if err := keep(text); err != nil {
		return "", Row{}, err
	}
	if err := b.rows.Put(ctx, row); err != nil {
		return "", Row{}, fmt.Errorf("keep the new token: %w", err)
	}
	b.forget()
	return text, row, nil
}

// forget has the rows read before they are next believed.
func (b *Book) forget() {
	b.loading.Lock() // not while older ones are being read
	defer b.loading.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loaded = time.Time{}
}

// List returns the tokens that work, the oldest first.
func (b *Book) List(ctx context.Context) ([]Row, error) {
	all, err := b.rows.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	all = alive(all, b.now())
	slices.SortFunc(all, func(x, y Row) int { return cmp.Or(x.Created.Compare(y.Created), cmp.Compare(x.ID, y.ID)) })
	return all, nil
}

// alive leaves out what has expired, and what ended with another, which may itself
// have ended with another.
func alive(rows []Row, now time.Time) []Row {
	kept := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) })
	ids := idsOf(kept)
	for before := -1; len(kept) != before; {
		before = len(kept)
		kept = slices.DeleteFunc(kept, func(r Row) bool {
			orphan := r.Parent != "" && !ids[r.Parent]
			if orphan {
				delete(ids, r.ID)
			}
			return orphan
		})
	}
	return kept
}

func idsOf(rows []Row) map[string]bool {
	ids := make(map[string]bool, len(rows))
	for _, r := range rows {
		ids[r.ID] = true
	}
	return ids
}

// Revoke ends the token with this id or, if there is one alone, this name. What
// was made from it ends too.
func (b *Book) Revoke(ctx context.Context, name string) (Row, error) {
	all, err := b.List(ctx)
	if err != nil {
		return Row{}, err
	}
	r, err := find(all, name)
	if err != nil {
		return Row{}, err
	}
	if err := b.rows.Drop(ctx, r.ID); err != nil {
		return Row{}, fmt.Errorf("revoke token %s: %w", r.ID, err)
	}
	b.forget()
	return r, nil
}

func find(rows []Row, name string) (Row, error) {
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.ID == name }); i >= 0 {
		return rows[i], nil
	}
	named := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Name != name })
	switch len(named) {
	case 0:
		return Row{}, &Error{kind: missing, text: fmt.Sprintf("no token has the id or name %.100q", Redact(name))}
	case 1:
		return named[0], nil
	}
	return Row{}, &Error{kind: taken, text: fmt.Sprintf("%d tokens have the name %.100q: say which by its id", len(named), name)}
}

// Check returns who holds a token.
func (b *Book) Check(ctx context.Context, text string) (Identity, error) {
	sum := sha256.Sum256([]byte(text))
	hash := hex.EncodeToString(sum[:])
	came := b.now()
	if err := b.load(ctx, fresh); err != nil {
		return Identity{}, err
	}
	r, ok := b.lookup(hash)
	if !ok { // another process may just have made it
		if err := b.loadAfter(ctx, came); err != nil {
			return Identity{}, err
		}
		r, ok = b.lookup(hash)
	}
	if !ok {
		return Identity{}, &Error{kind: unknown, text: "the token is not known: it was revoked, has expired or never was"}
	}
	return r.Identity(), nil
}

// lookup finds by half of the hash and compares all of it in constant time.
func (b *Book) lookup(hash string) (Row, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ok := b.byHash[hash[:32]]
	now := b.now()
	if !ok || subtle.ConstantTimeCompare([]byte(r.Hash), []byte(hash)) != 1 || !r.Expires.IsZero() && !now.Before(r.Expires) {
		return Row{}, false
	}
	if now.Sub(r.Used) >= touched {
		b.used[r.ID] = now.UTC()
	}
	return r, true
}

// Holds says whether the token of an identity still works.
func (b *Book) Holds(ctx context.Context, id string) (bool, error) {
	if err := b.load(ctx, fresh); err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ok := b.byID[id]
	return ok && (r.Expires.IsZero() || b.now().Before(r.Expires)), nil
}

// load reads the rows if they were last read longer ago than age.
func (b *Book) load(ctx context.Context, age time.Duration) error {
	if b.recent(age) {
		return nil
	}
	b.loading.Lock()
	defer b.loading.Unlock()
	if b.recent(age) {
		return nil // somebody else has, while this one waited
	}
	return b.read(ctx)
}

// loadAfter reads the rows unless that was begun after a time, but not too soon
// after the last time. Those who wait for it together share one reading.
func (b *Book) loadAfter(ctx context.Context, came time.Time) error {
	b.wait(ctx, b.last().Add(again).Sub(b.now()))
	b.loading.Lock()
	defer b.loading.Unlock()
	if b.last().After(came) {
		return nil
	}
	return b.read(ctx)
}

// last is when the rows were last read.
func (b *Book) last() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.loaded
}

// read reads the rows. The caller holds loading.
func (b *Book) read(ctx context.Context) error {
	at := b.now()
	all, err := b.rows.List(ctx)
	if err != nil {
		return fmt.Errorf("read tokens: %w", err)
	}
	b.set(alive(all, at), at)
	return nil
}

func (b *Book) recent(age time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	since := b.now().Sub(b.loaded)
	return !b.loaded.IsZero() && since >= 0 && since < age
}

func (b *Book) set(rows []Row, at time.Time) {
	byHash, byID := make(map[string]Row, len(rows)), indexed(rows)
	for _, r := range rows {
		if len(r.Hash) == hex.EncodedLen(sha256.Size) {
			line := lineage(byID, r.ID)
			r.root = line[len(line)-1]
			byHash[r.Hash[:32]] = r
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.byHash, b.byID, b.loaded = byHash, byID, at
}

// Tidy writes when tokens were last used, and drops those that have expired or
// ended with another. Whoever has the book calls it about every minute.
func (b *Book) Tidy(ctx context.Context) error {
	for id, at := range b.takeUsed() {
		if err := b.rows.Touch(ctx, id, at); err != nil {
			return fmt.Errorf("note the use of token %s: %w", id, err)
		}
	}
	all, err := b.rows.List(ctx)
	if err != nil {
		return fmt.Errorf("list tokens: %w", err)
	}
	kept := idsOf(alive(all, b.now()))
	for _, r := range all {
		if !kept[r.ID] {
			if err := b.rows.Drop(ctx, r.ID); err != nil {
				return fmt.Errorf("drop token %s: %w", r.ID, err)
			}
		}
	}
	return nil
}

func (b *Book) takeUsed() map[string]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := b.used
	b.used = map[string]time.Time{}
	return used
}
