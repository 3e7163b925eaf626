// Package credential says who may ask a coordinator for what: tokens are made, kept
// as hashes, checked, listed and revoked.
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

// Role is what a token's holder may do.
type Role string

// The roles. Each but the worker's may do what those after it may, and an
// operator what a worker may.
const (
	Admin    Role = "admin"    // also make and revoke tokens
	Operator Role = "operator" // also submit, answer, cancel
	Viewer   Role = "viewer"   // look
	Worker   Role = "worker"   // claim, and speak for its own agents and their tasks; look
)

// Roles lists the roles, the mightiest first.
func Roles() []Role { return []Role{Admin, Operator, Worker, Viewer} }

// Identity is who asks.
type Identity struct {
	ID   string // of the token, which is no secret
	Root string // the id of the token that it was made from in the end, or its own
	Name string
	Role Role
	Limits
}

// Owner is the name that tokens of one holder share: what one of them registered
// may be used with the next. Only tokens of role worker have one, since all others
// may speak for every worker or for none, and none that was made from another.
func (i Identity) Owner() string {
	if i.Role != Worker || i.Root != "" && i.Root != i.ID {
		return ""
	}
	return i.Name
}

// Row is a token as it is kept: everything but the token.
type Row struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Hash    string    `json:"hash"` // SHA-256 of the token, in hex
	Limits            // of the role limitedWorker
	Parent  string    `json:"parent,omitempty"` // the id of a token that this one ends with
	Created time.Time `json:"created_at"`
	Expires time.Time `json:"expires_at,omitzero"`
	Used    time.Time `json:"used_at,omitzero"` // about when it was last used

	root string // see Identity; empty if it was not looked for
}

// Identity is who the token's holder is.
func (r Row) Identity() Identity {
	i := Identity{ID: r.ID, Root: cmp.Or(r.root, r.ID), Name: r.Name, Role: r.Role}
	if r.Role == limitedWorker {
		i.Role, i.Limits = Worker, r.Limits
		i.limited = true
	}
	return i
}

// Rows keeps tokens. It is safe for concurrent use, also by several processes.
type Rows interface {
	List(ctx context.Context) ([]Row, error)
	Put(ctx context.Context, r Row) error
	// Drop does nothing if there is none with the id.
	Drop(ctx context.Context, id string) error
	// Touch sets when a token was last used. It does nothing if there is none
	// with the id: a token that was revoked meanwhile must not come back.
	Touch(ctx context.Context, id string, at time.Time) error
}

// prefix makes tokens easy to find where they should not be.
const prefix = "gft_"

// alphabet are the characters of a secret.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Redact takes everything that looks like a token out of a text.
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

// generate returns a token and the row that it is kept as.
func generate(random io.Reader, r Row) (string, Row, error) {
	secret, err := Secret(random)
	if err != nil {
		return "", Row{}, err
	}
	var id [4]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return "", Row{}, fmt.Errorf("random bits: %w", err)
	}
	text := prefix + secret
	r.ID, r.Hash = "t"+hex.EncodeToString(id[:]), hashOf(text)
	return text, r, nil
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// check says what is wrong with a new token's name and role.
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
