package serverfleet

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"gaffer/coordinator"
)

// Error tells the user why a request to a server failed.
type Error struct {
	text, hint string
	err        error
}

func (e *Error) Error() string { return e.text }
func (e *Error) Unwrap() error { return e.err }

// Hint returns what the user can do next, or "".
func (e *Error) Hint() string { return e.hint }

// problem converts an error of the HTTP client to the error for the user. If the server refuses the
// request because it is invalid, names something that does not exist, or conflicts with the current
// state, the error's text is only the server's message. The texts of other errors contain the
// server's address.
func (f *Fleet) problem(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	refusal, ok := errors.AsType[*coordinator.Error](err)
	if !ok {
		return &Error{fmt.Sprintf("server %s: cannot be reached: %v", f.opts.Address, cause(err)), unreachableHint(err), err}
	}
	switch {
	case refusal.Status == http.StatusUnauthorized:
		return &Error{
			fmt.Sprintf("server %s: %s", f.opts.Address, refusal.Message),
			"--token-file FILE or GAFFER_TOKEN gives a token, 'gaffer token create' where the server runs makes one", err,
		}
	case refusal.Status == http.StatusForbidden:
		return &Error{fmt.Sprintf("server %s: %s", f.opts.Address, refusal.Message), "'gaffer doctor' tells the role of your token; an operator's may run plans", err}
	case refusal.Code == "not_found" && strings.HasPrefix(refusal.Message, "there is no such path"):
		return &Error{fmt.Sprintf("server %s: %s", f.opts.Address, refusal.Message), "the address may have a path too much, or the server is older than this gaffer", err}
	case refusal.Code != "http" && (refusal.NotFound() || refusal.Conflict() || refusal.Invalid()):
		return &Error{refusal.Message, "", err}
	}
	return &Error{fmt.Sprintf("server %s: %v", f.opts.Address, err), f.unexpectedHint(refusal), err}
}

// unexpectedHint returns a hint for an error response that a gaffer server would not send, or "" if
// it knows no hint. It knows only one cause: the address begins with http://, but the server uses
// TLS.
func (f *Fleet) unexpectedHint(refusal *coordinator.Error) string {
	if refusal.Code == "http" && refusal.Status == http.StatusBadRequest && strings.HasPrefix(f.opts.Address, "http://") {
		return "if it has TLS, its address begins with https://"
	}
	return ""
}

// unreachableHint returns a hint for a server that could not be reached.
func unreachableHint(err error) string {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, otherName := errors.AsType[x509.HostnameError](err)
	switch {
	case unknown, otherName:
		return "--fingerprint SHA-256 trusts the certificate that 'gaffer serve --tls' has made and prints, --ca FILE those of an authority"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "it has no TLS: the address begins with http://"
	}
	return "'gaffer serve' starts one; --local asks this machine"
}

// isTemporary reports whether a request that failed with err may succeed if it is sent again later.
func isTemporary(err error) bool {
	if refusal, ok := errors.AsType[*coordinator.Error](err); ok {
		return refusal.Temporary()
	}
	return !errors.Is(err, context.Canceled)
}
