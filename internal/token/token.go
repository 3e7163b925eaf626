// Package token says who may ask a coordinator for what.
package token

// Role is what a token's holder may do.
type Role string

// The roles. Each but the worker's may do what those after it may.
const (
	Admin    Role = "admin"    // also make and revoke tokens
	Operator Role = "operator" // also submit, answer, cancel
	Viewer   Role = "viewer"   // look
	Worker   Role = "worker"   // claim, and speak for its own agents and their tasks; look
)

// Identity is who asks.
type Identity struct {
	ID   string // of the token, which is no secret
	Name string
	Role Role
}
