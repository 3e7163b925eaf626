package server

import "gaffer/internal/api/credential"

// access says which clients may use a route.
type access string

// The kinds of access. The comment of each lists the clients that may use a route of this kind.
const (
	open    access = "open"    // everyone, without a token
	look    access = "look"    // everyone with a token
	work    access = "work"    // workers, operators, admins
	operate access = "operate" // operators, admins
	manage  access = "manage"  // admins
)

// permits reports whether a client with role r may use a route with access a.
func (a access) permits(r credential.Role) bool {
	switch r {
	case credential.Admin:
		return true
	case credential.Operator:
		return a != manage
	case credential.Worker:
		return a == open || a == look || a == work
	case credential.Viewer:
		return a == open || a == look
	}
	return false
}
