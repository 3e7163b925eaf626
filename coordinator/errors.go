package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// The error codes of claims that find nothing to claim.
const (
	NoTasks  = "no_tasks"  // no task can be claimed
	NoInputs = "no_inputs" // no text or keystrokes from a user wait for delivery to the agent
)

// The codes of the errors that the client returns for an answer that it cannot use.
const (
	BadAnswer  = "bad_answer" // the answer violates the protocol
	TooLarge   = "too_large"  // the answer exceeds Options.Limit
	Redirected = "redirected" // the answer was a redirect, which the client does not follow
)

// Error says that a coordinator refused a request, or that the client cannot use the answer.
type Error struct {
	Code    string
	Message string
	Status  int           // status code of the HTTP response
	After   time.Duration // wait that the coordinator asks for, at most 1 minute; 0 if none
	Offset  int64         // log offset from which the worker must continue to send; set only for the code LogGap
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d %s)", e.Message, e.Status, e.Code) }

// NotFound reports whether the requested object, such as an agent, does not exist. It also returns
// true if there was nothing to claim.
func (e *Error) NotFound() bool { return e.Status == http.StatusNotFound }

// Conflict reports whether the current state does not allow the request, for example because another
// client was first.
func (e *Error) Conflict() bool { return e.Status == http.StatusConflict }

// Invalid reports whether the request itself is invalid, so that the coordinator will never accept
// it.
func (e *Error) Invalid() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// Denied reports whether the coordinator refused the request because of its token: the token is
// missing, is unknown, or lacks the permission.
func (e *Error) Denied() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// Temporary reports whether the coordinator may accept the same request later.
func (e *Error) Temporary() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented:
		return false
	}
	return e.Status >= http.StatusInternalServerError
}

// temporary reports whether a retry may succeed. It returns true if there was no answer, for
// example because the connection broke. It returns false if the request is invalid or would be
// refused again.
func temporary(err error) bool {
	if _, ok := errors.AsType[*badCall](err); ok {
		return false
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Temporary()
	}
	return true
}

// longestWait is the maximum time that a client waits before a retry, even if the coordinator asks
// for more.
const longestWait = time.Minute

// refusal converts an answer with an error status into an Error. The answer may come from a proxy
// and have any format.
func refusal(res *http.Response, body []byte, now time.Time) *Error {
	e := &Error{Status: res.StatusCode, After: retryAfter(res.Header.Get("Retry-After"), now)}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		e.Code = Redirected
		e.Message = "the answer points to another address, which is not followed: " + printable(res.Header.Get("Location"))
		return e
	}
	var parsed struct {
		Error Problem `json:"error"`
	}
	_ = json.Unmarshal(body, &parsed) // ignore a body in another format
	e.Code, e.Message, e.Offset = printable(parsed.Error.Code), printable(parsed.Error.Message), parsed.Error.Offset
	if e.Code == "" {
		e.Code = "http"
	}
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(res.StatusCode))
	}
	return e
}

// retryAfter parses the header Retry-After, which is a number of seconds or a date. It returns at
// most longestWait, and 0 if the header is missing or invalid.
func retryAfter(header string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), longestWait)
}

// printable returns a text from another program as one line of printable characters, so that the
// text cannot send control sequences to a terminal. It shortens a long text.
func printable(s string) string {
	const most = 500
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strings.TrimSpace(s)
}
