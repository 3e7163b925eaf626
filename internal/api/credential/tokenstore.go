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
	// cacheLife is how long cached token rows are used before they are read again. A token that
	// another process has revoked is accepted for at most this long.
	cacheLife = 2 * time.Second
	// reloadInterval is the minimum time between two reads of the token rows that are caused by
	// unknown tokens. A request with an unknown token waits for such a read, because another
	// process may just have created the token.
	reloadInterval = 200 * time.Millisecond
	// useInterval is the minimum time between two updates of the stored time of a token's last use.
	useInterval = time.Minute
)

// TokenStore manages the tokens of a coordinator. It is safe for concurrent use. Several processes
// may use the same stored tokens, each with its own TokenStore.
type TokenStore struct {
	rows   Storage
	now    func() time.Time
	random io.Reader
	wait   func(ctx context.Context, d time.Duration) bool

	loading sync.Mutex // locked while the rows are being read from the storage

	mu     sync.Mutex
	byHash map[string]Token // token rows by the first half of the token's hash
	byID   map[string]Token
	loaded time.Time
	used   map[string]time.Time // times of last use that are not stored yet, by token id
}

// NewTokenStore returns a TokenStore for the tokens in the given Storage.
func NewTokenStore(rows Storage, now func() time.Time, random io.Reader) *TokenStore {
	return &TokenStore{rows: rows, now: now, random: random, wait: pause.For, used: map[string]time.Time{}}
}

// TokenSpec describes a token to create.
type TokenSpec struct {
	Role Role
	Name string
	// Parent is the id of the token from which the new token is created, or empty. When the parent
	// becomes invalid, the new token does too.
	Parent       string
	ExpiresAfter time.Duration // time until the token expires; 0 means never
	Limits                     // limits of the token; allowed only for role worker
}

// Create creates a token and returns its text. Only a hash of the text is stored, so the text
// cannot be read again later.
func (b *TokenStore) Create(ctx context.Context, n TokenSpec) (text string, row Token, err error) {
	return b.create(ctx, n, func(string) error { return nil })
}

// create creates a token. It first calls the function save with the token's text, and then stores
// the token. The token is valid only after it was stored.
func (b *TokenStore) create(ctx context.Context, n TokenSpec, save func(text string) error) (text string, row Token, err error) {
	if err := check(n.Role, n.Name, n.Limits); err != nil {
		return "", Token{}, err
	}
	now := b.now().UTC()
	row = Token{Name: n.Name, Role: n.Role, Limits: n.Limits, Parent: n.Parent, Created: now}
	if !n.empty() {
		row.Role = limitedWorker
	}
	if n.ExpiresAfter > 0 {
		row.Expires = now.Add(n.ExpiresAfter)
	}
	if n.Parent != "" {
		if err := b.deleteOldestDescendant(ctx, n.Parent); err != nil {
			return "", Token{}, fmt.Errorf("make room for the new token: %w", err)
		}
	}
	if text, row, err = generate(b.random, row); err != nil {
		return "", Token{}, err
	}
	if err := save(text); err != nil {
		return "", Token{}, err
	}
	if err := b.rows.Put(ctx, row); err != nil {
		return "", Token{}, fmt.Errorf("keep the new token: %w", err)
	}
	b.invalidateCache()
	return text, row, nil
}

// invalidateCache makes the cache read the token rows again at its next use.
func (b *TokenStore) invalidateCache() {
	// A read of the rows may be in progress that started before the caller changed them. Wait until
	// it ends. Otherwise it could put outdated rows into the cache after invalidateCache has
	// returned.
	b.loading.Lock()
	defer b.loading.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loaded = time.Time{}
}

// List returns the valid tokens, the oldest first.
func (b *TokenStore) List(ctx context.Context) ([]Token, error) {
	all, err := b.rows.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	all = validTokens(all, b.now())
	slices.SortFunc(all, func(x, y Token) int { return cmp.Or(x.Created.Compare(y.Created), cmp.Compare(x.ID, y.ID)) })
	return all, nil
}

// validTokens returns the rows of valid tokens. A token is valid if the token and all its ancestors
// exist and have not expired.
func validTokens(rows []Token, now time.Time) []Token {
	kept := slices.DeleteFunc(slices.Clone(rows), func(r Token) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) })
	ids := idsOf(kept)
	for before := -1; len(kept) != before; {
		before = len(kept)
		kept = slices.DeleteFunc(kept, func(r Token) bool {
			orphan := r.Parent != "" && !ids[r.Parent]
			if orphan {
				delete(ids, r.ID)
			}
			return orphan
		})
	}
	return kept
}

func idsOf(rows []Token) map[string]bool {
	ids := make(map[string]bool, len(rows))
	for _, r := range rows {
		ids[r.ID] = true
	}
	return ids
}

// Revoke deletes a token. The parameter name is the token's id, or its name if no other valid token
// has the same name. Tokens that were created from the token become invalid too.
func (b *TokenStore) Revoke(ctx context.Context, name string) (Token, error) {
	all, err := b.List(ctx)
	if err != nil {
		return Token{}, err
	}
	r, err := find(all, name)
	if err != nil {
		return Token{}, err
	}
	if err := b.rows.Drop(ctx, r.ID); err != nil {
		return Token{}, fmt.Errorf("revoke token %s: %w", r.ID, err)
	}
	b.invalidateCache()
	return r, nil
}

func find(rows []Token, name string) (Token, error) {
	if i := slices.IndexFunc(rows, func(r Token) bool { return r.ID == name }); i >= 0 {
		return rows[i], nil
	}
	named := slices.DeleteFunc(slices.Clone(rows), func(r Token) bool { return r.Name != name })
	switch len(named) {
	case 0:
		return Token{}, &Error{kind: missing, text: fmt.Sprintf("no token has the id or name %.100q", Redact(name))}
	case 1:
		return named[0], nil
	}
	return Token{}, &Error{kind: taken, text: fmt.Sprintf("%d tokens have the name %.100q: say which by its id", len(named), name)}
}

// Check returns the identity that belongs to the text of a token, or an error if the token is not
// valid.
func (b *TokenStore) Check(ctx context.Context, text string) (Identity, error) {
	hash := hashOf(text)
	came := b.now()
	if err := b.load(ctx, cacheLife); err != nil {
		return Identity{}, err
	}
	r, ok := b.lookup(hash)
	// If the cache does not have the token, read the rows again, because another process may just
	// have created the token.
	if !ok {
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

// lookup returns the cached row of the token with this hash. It finds the row by the first half of
// the hash, and then compares the whole hash in constant time. It does not return expired tokens.
// If the stored time of the token's last use is older than useInterval, lookup records the current
// time in memory, and Tidy stores it later.
func (b *TokenStore) lookup(hash string) (Token, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ok := b.byHash[hash[:32]]
	now := b.now()
	if !ok || subtle.ConstantTimeCompare([]byte(r.Hash), []byte(hash)) != 1 || !r.Expires.IsZero() && !now.Before(r.Expires) {
		return Token{}, false
	}
	if now.Sub(r.Used) >= useInterval {
		b.used[r.ID] = now.UTC()
	}
	return r, true
}

// Valid reports whether the token with this id is still valid.
func (b *TokenStore) Valid(ctx context.Context, id string) (bool, error) {
	if err := b.load(ctx, cacheLife); err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ok := b.byID[id]
	return ok && (r.Expires.IsZero() || b.now().Before(r.Expires)), nil
}

// load reads the token rows into the cache if the last read is older than age.
func (b *TokenStore) load(ctx context.Context, age time.Duration) error {
	if b.recent(age) {
		return nil
	}
	b.loading.Lock()
	defer b.loading.Unlock()
	if b.recent(age) {
		// Another goroutine has read the rows into the cache while this one waited for the lock.
		return nil
	}
	return b.read(ctx)
}

// loadAfter makes sure that the cache contains the rows of a read that started after the time t. It
// waits until reloadInterval has passed since the last read. Then it reads the rows, but only if no
// other goroutine has started a read after t. So concurrent callers share one read.
func (b *TokenStore) loadAfter(ctx context.Context, t time.Time) error {
	b.wait(ctx, b.lastRead().Add(reloadInterval).Sub(b.now()))
	b.loading.Lock()
	defer b.loading.Unlock()
	if b.lastRead().After(t) {
		return nil
	}
	return b.read(ctx)
}

// lastRead returns when the rows were last read into the cache.
func (b *TokenStore) lastRead() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.loaded
}

// read reads the rows into the cache. The caller must have locked b.loading.
func (b *TokenStore) read(ctx context.Context) error {
	at := b.now()
	all, err := b.rows.List(ctx)
	if err != nil {
		return fmt.Errorf("read tokens: %w", err)
	}
	b.set(validTokens(all, at), at)
	return nil
}

func (b *TokenStore) recent(age time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	since := b.now().Sub(b.loaded)
	return !b.loaded.IsZero() && since >= 0 && since < age
}

func (b *TokenStore) set(rows []Token, at time.Time) {
	byHash, byID := make(map[string]Token, len(rows)), indexed(rows)
	for _, r := range rows {
		if len(r.Hash) == hex.EncodedLen(sha256.Size) {
			line := ancestors(byID, r.ID)
			r.root = line[len(line)-1]
			byHash[r.Hash[:32]] = r
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.byHash, b.byID, b.loaded = byHash, byID, at
}

// Tidy stores when tokens were last used, and deletes tokens that have expired or that descend from
// an expired or revoked token. The server calls it about once a minute.
func (b *TokenStore) Tidy(ctx context.Context) error {
	for id, at := range b.takeUses() {
		if err := b.rows.Touch(ctx, id, at); err != nil {
			return fmt.Errorf("note the use of token %s: %w", id, err)
		}
	}
	all, err := b.rows.List(ctx)
	if err != nil {
		return fmt.Errorf("list tokens: %w", err)
	}
	kept := idsOf(validTokens(all, b.now()))
	for _, r := range all {
		if !kept[r.ID] {
			if err := b.rows.Drop(ctx, r.ID); err != nil {
				return fmt.Errorf("drop token %s: %w", r.ID, err)
			}
		}
	}
	return nil
}

func (b *TokenStore) takeUses() map[string]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := b.used
	b.used = map[string]time.Time{}
	return used
}
