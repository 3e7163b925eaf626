// Package credential manages access tokens: it creates, checks, lists and revokes them,
// and stores them as hashes.
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

// Role decides what the holder of a token may do.
type Role string

// The roles. An admin may do everything that an operator may. An operator may do
// everything that viewers and workers may.
const (
	Admin    Role = "admin"    // also create and revoke tokens
	Operator Role = "operator" // also submit, answer, cancel
	Viewer   Role = "viewer"   // read only
	Worker   Role = "worker"   // read, claim tasks, and act for the agents that the token registered
)

// Roles lists the roles, the most powerful first.
func Roles() []Role { return []Role{Admin, Operator, Worker, Viewer} }

// Identity describes the token of a request.
type Identity struct {
	ID   string // id of the token; not a secret
	Root string // id of the token at the start of the chain of parents; the token's own id if it has no parent
	Name string
	Role Role
	Limits
}

// Owner returns a name that stays the same when a token is replaced, so that the new token
// can act for the workers that the old one registered. It is empty for roles other than
// worker, which may act for every worker or for none, and for tokens with a parent.
func (i Identity) Owner() string {
	if i.Role != Worker || i.Root != "" && i.Root != i.ID {
		return ""
	}
	return i.Name
}

// Token is a stored token, without its text.
type Token struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Hash    string    `json:"hash"` // SHA-256 of the token, in hex
	Limits            // only of role limitedWorker
	Parent  string    `json:"parent,omitempty"` // id of the token that this one was created from; if the parent is revoked, this token is invalid
	Created time.Time `json:"created_at"`
	Expires time.Time `json:"expires_at,omitzero"`
	Used    time.Time `json:"used_at,omitzero"` // approximate time of the last use

	root string // Identity.Root; empty if it was not determined
}

// Identity returns the identity of the token's holder.
func (r Token) Identity() Identity {
	i := Identity{ID: r.ID, Root: cmp.Or(r.root, r.ID), Name: r.Name, Role: r.Role}
	if r.Role == limitedWorker {
		i.Role, i.Limits = Worker, r.Limits
		i.limited = true
	}
	return i
}

// Storage stores tokens. It is safe for concurrent use, also by several processes.
type Storage interface {
	List(ctx context.Context) ([]Token, error)
	Put(ctx context.Context, r Token) error
	// Drop does nothing if no token has the id.
	Drop(ctx context.Context, id string) error
	// Touch sets when a token was last used. It does nothing if no token has the id: it
	// must not restore a token that was revoked meanwhile.
	Touch(ctx context.Context, id string, at time.Time) error
}

// prefix makes leaked tokens easy to find, for example by secret scanners.
const prefix = "gft_"

// alphabet contains the characters of a secret.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Redact replaces everything in a text that looks like a token.
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

// Secret returns 256 random bits as text.
func Secret(random io.Reader) (string, error) {
	var bits [32]byte
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		return "", fmt.Errorf("random bits: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(bits[:]), nil
}

// generate returns a new token and its row.
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
