// Package credential manages access tokens: it creates, checks, lists and revokes them. The
// database contains only a hash of a token's text.
package credential

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Role decides what a client with a token may do.
type Role string

// The roles. An operator may do everything that viewers and workers may. An admin may do everything
// that an operator may.
const (
	Admin    Role = "admin"    // create and revoke tokens
	Operator Role = "operator" // submit runs, answer questions of agents, cancel runs and tasks
	Viewer   Role = "viewer"   // read only
	Worker   Role = "worker"   // read, claim tasks, act for the agents registered with the token
)

// Roles lists the roles, the most powerful first.
func Roles() []Role { return []Role{Admin, Operator, Worker, Viewer} }

// Identity identifies the client that sends a request. It describes the client's token.
type Identity struct {
	ID string // id of the token; not a secret
	// Root is the id of the token's ancestor that has no parent. If the token itself has no parent,
	// Root is the token's own id.
	Root string
	Name string
	Role Role
	Limits
}

// Owner returns the name of the token if the token has the role worker and no parent. For any other
// token it returns "". When a client registers a worker with the token, this name is stored in the
// worker's row. Therefore clients with another token of the same name and role may act for the
// worker too.
func (i Identity) Owner() string {
	if i.Role != Worker || i.Root != "" && i.Root != i.ID {
		return ""
	}
	return i.Name
}

// Token is a token as it is stored: with a hash instead of its text.
type Token struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Role   Role   `json:"role"`
	Hash   string `json:"hash"` // SHA-256 of the token's text, in hex
	Limits        // set only for role limitedWorker
	// Parent is the id of the token from which this one was created. When the parent is revoked or
	// expires, this token becomes invalid too.
	Parent  string    `json:"parent,omitempty"`
	Created time.Time `json:"created_at"`
	Expires time.Time `json:"expires_at,omitzero"`
	Used    time.Time `json:"used_at,omitzero"` // approximate time of the last use

	root string // the value of Identity.Root; set only in the cached rows of TokenStore.byHash
}

// Identity returns the identity of clients that use this token.
func (r Token) Identity() Identity {
	i := Identity{ID: r.ID, Root: cmp.Or(r.root, r.ID), Name: r.Name, Role: r.Role}
	if r.Role == limitedWorker {
		i.Role, i.Limits = Worker, r.Limits
		i.limited = true
	}
	return i
}

// Storage stores tokens. It is safe for concurrent use. Several processes may use the same stored
// tokens, unless the Storage is a [MemoryStorage].
type Storage interface {
	List(ctx context.Context) ([]Token, error)
	Put(ctx context.Context, r Token) error
	// Drop deletes the token with this id. It does nothing if no token has this id.
	Drop(ctx context.Context, id string) error
	// Touch stores when a token was last used. It does nothing if no token has this id, because the
	// token may have been revoked meanwhile.
	Touch(ctx context.Context, id string, at time.Time) error
}

// prefix is how every token begins. Redact searches for it.
const prefix = "gft_"

// alphabet contains the characters that can occur in a token after the prefix.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Redact replaces everything in text that looks like a token with "gft_…".
func Redact(text string) string {
	before, after, found := strings.Cut(text, prefix)
	if !found {
		return text
	}
	var b strings.Builder
	for ; found; before, after, found = strings.Cut(after, prefix) {
		b.WriteString(before + prefix)
		if rest := strings.TrimLeft(after, alphabet); len(after)-len(rest) >= 8 {
			b.WriteString("…")
			after = rest
		}
	}
	return b.String() + before
}

// Secret returns 256 random bits as a text of characters from alphabet.
func Secret(random io.Reader) (string, error) {
	var bits [32]byte
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		return "", fmt.Errorf("random bits: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(bits[:]), nil
}

// generate creates the text of a new token. It returns this text, and a copy of the row r that
// contains a new id and the hash of the text.
func generate(random io.Reader, r Token) (string, Token, error) {
	secret, err := Secret(random)
	if err != nil {
		return "", Token{}, err
	}
	var id [4]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return "", Token{}, fmt.Errorf("random bits: %w", err)
	}
	text := prefix + secret
	r.ID, r.Hash = "t"+hex.EncodeToString(id[:]), hashOf(text)
	return text, r, nil
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// check validates the role, the name and the limits of a new token.
func check(role Role, name string, l Limits) error {
	if !slices.Contains(Roles(), role) {
		return &Error{kind: invalid, text: fmt.Sprintf("role %.40q: want one of %v", role, Roles())}
	}
	if !l.empty() && role != Worker {
		return &Error{kind: invalid, text: fmt.Sprintf("projects and pools limit a token of role worker, and this one is of role %s", role)}
	}
	if err := l.check(); err != nil {
		return err
	}
	if name == "" || len(name) > 100 || !printable(name) {
		return &Error{kind: invalid, text: fmt.Sprintf("name %.100q: want 1 to 100 printable characters", name)}
	}
	return nil
}
