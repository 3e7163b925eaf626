package server

import "gaffer/internal/api/credential"

// access says which clients may use a route.
type access string

// Which clients may use a route.
const (
	open    access = "open"    // everyone, without a token
	look    access = "look"    // everyone with a token
	work    access = "work"    // workers, operators, admins
	operate access = "operate" // operators, admins
	manage  access = "manage"  // admins
)

// permits reports whether a client with this role has the access.
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
