package server

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
)

// failure is the body of an answer that reports an error.
type failure struct {
	Error coordinator.Problem `json:"error"`
}

// problem is an error with its HTTP status and its code in the protocol.
type problem struct {
	status int
	coordinator.Problem
	header map[string]string
}

func (p *problem) Error() string { return p.Message }

func refuse(status int, code, message string) *problem {
	return &problem{status: status, Problem: coordinator.Problem{Code: code, Message: message}}
}

// temporary returns an error with status 503, after which the client should wait a second and
// retry.
func temporary(code, message string) *problem {
	p := refuse(http.StatusServiceUnavailable, code, message)
	p.header = map[string]string{"Retry-After": "1"}
	return p
}

// problemOf converts an error to the one that the client gets. An error of an unknown type becomes
// an error with the code "internal"; the client does not get the original error's text.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	switch {
	case anyError(err, interface{ Damaged() bool }.Damaged):
		return refuse(http.StatusInternalServerError, "damaged", "the coordinator's database is damaged: its log says where under this request's id; restore a backup")
	case anyError(err, interface{ Denied() bool }.Denied):
		return refuse(http.StatusForbidden, codeOf(err, "denied"), err.Error())
	case anyError(err, interface{ NotFound() bool }.NotFound):
		return refuse(http.StatusNotFound, codeOf(err, "not_found"), err.Error())
	case anyError(err, interface{ Conflict() bool }.Conflict):
		p := refuse(http.StatusConflict, codeOf(err, "conflict"), err.Error())
		p.Offset = offsetOf(err)
		return p
	case anyError(err, interface{ Invalid() bool }.Invalid):
		return refuse(http.StatusBadRequest, codeOf(err, "invalid_request"), err.Error())
	case anyError(err, interface{ Busy() bool }.Busy):
		return temporary("busy", "the coordinator cannot use its database now: its log says why under this request's id; try again")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return temporary("busy", "the coordinator did not get to it in time: try again")
	case anyError(err, func(net.Error) bool { return true }):
		return temporary("database_away", "the coordinator does not reach its database: try again")
	}
	return refuse(http.StatusInternalServerError, "internal", "the coordinator failed: its log says why under this request's id")
}

// anyError reports whether err, or an error that it wraps, is of type E and the function match
// returns true for it.
func anyError[E any](err error, match func(E) bool) bool {
	for err != nil {
		if e, ok := err.(E); ok && match(e) {
			return true
		}
		if list, ok := err.(interface{ Unwrap() []error }); ok {
			for _, inner := range list.Unwrap() {
				if anyError(inner, match) {
					return true
				}
			}
			return false
		}
		err = errors.Unwrap(err)
	}
	return false
}

func codeOf(err error, without string) string {
	e, ok := errors.AsType[interface {
		error
		Code() string
	}](err)
	if !ok || e.Code() == "" {
		return without
	}
	return e.Code()
}

// offsetOf returns the offset from which a worker must send an attempt's log again. It returns 0 if
// the error has no offset.
func offsetOf(err error) int64 {
	e, ok := errors.AsType[interface {
		error
		Offset() int64
	}](err)
	if !ok {
		return 0
	}
	return e.Offset()
}

// writeJSON answers with a value as JSON. HTML characters are escaped, so that a browser finds no
// HTML in the answer even if it treats the answer as a page.
func writeJSON(w http.ResponseWriter, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer cannot be written as JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // an error only means that the client has disconnected
}

func (p *problem) write(w http.ResponseWriter) {
	for name, value := range p.header {
		w.Header().Set(name, value)
	}
	shown := p.Problem
	shown.Message = strings.ToValidUTF8(credential.Redact(shown.Message), "\uFFFD")
	writeJSON(w, p.status, failure{shown})
}
