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

// The codes that a client asks for by name.
const (
	NoTasks  = "no_tasks"  // a claim, and nothing is waiting
	NoInputs = "no_inputs" // a claim of an input, and there is none
)

// The codes that the client itself gives to an answer it cannot use.
const (
	BadAnswer  = "bad_answer" // not what the protocol says
	TooLarge   = "too_large"  // more than the client reads
	Redirected = "redirected" // the token stays with the host it is for
)

// Error is a coordinator's refusal, or an answer that is of no use.
type Error struct {
	Code    string
	Message string
	Status  int           // of the HTTP answer
	After   time.Duration // how long the coordinator asks to be left alone
	Offset  int64         // with LogGap: where to go on
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d %s)", e.Message, e.Status, e.Code) }

// NotFound says that what was asked for is not there: no such agent, no task
// waiting, no input.
func (e *Error) NotFound() bool { return e.Status == http.StatusNotFound }

// Conflict says that somebody else was first.
func (e *Error) Conflict() bool { return e.Status == http.StatusConflict }

// Invalid says that the request can never be accepted as it is.
func (e *Error) Invalid() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// Denied says that the token is missing, unknown, or not good for this.
func (e *Error) Denied() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// Temporary says that the same request may be accepted later.
func (e *Error) Temporary() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented:
		return false
	}
	return e.Status >= http.StatusInternalServerError
}

// temporary is true of everything but an answer that would be the same again, and
// what cannot be asked.
func temporary(err error) bool {
	if _, ok := errors.AsType[*badCall](err); ok {
		return false
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Temporary()
	}
	return true
}

// longestRest is how long a coordinator can make a client wait.
const longestRest = time.Minute

// refusal reads what a coordinator says with a status that is not one of success.
// Something between the two may have answered instead, in any form.
func refusal(res *http.Response, body []byte, now time.Time) *Error {
	e := &Error{Status: res.StatusCode, After: retryAfter(res.Header.Get("Retry-After"), now)}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		e.Code = Redirected
		e.Message = "the answer points to another address, which is not followed: " + printable(res.Header.Get("Location"))
		return e
	}
	var told struct {
		Error Problem `json:"error"`
	}
	_ = json.Unmarshal(body, &told) // an answer in another form says nothing
	e.Code, e.Message, e.Offset = printable(told.Error.Code), printable(told.Error.Message), told.Error.Offset
	if e.Code == "" {
		e.Code = "http"
	}
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(res.StatusCode))
	}
	return e
}

// retryAfter reads both forms of the header, seconds and a time.
func retryAfter(header string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), longestRest)
}

// printable keeps what another program sent from reaching a terminal as more than
// a line of text.
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
