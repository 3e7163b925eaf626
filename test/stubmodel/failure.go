package stubmodel

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// vendorError is an error of a model vendor's API, such as an exceeded rate limit.
type vendorError struct {
	kind    string // Anthropic's name for the error, such as rate_limit_error
	message string
	reset   time.Time // when the usage limit ends; zero except in mode "limit"
}

// limitDuration is the time until the usage limit ends, as the stub model reports it in mode
// "limit".
const limitDuration = time.Hour

// failure returns the error that the model answers with in mode m, and its HTTP status. ok is false
// if the model answers without an error in this mode.
func (m Mode) failure() (status int, f vendorError, ok bool) {
	switch {
	case m.Kind == "ctx":
		return http.StatusBadRequest, vendorError{kind: "invalid_request_error", message: "prompt is too long: 250000 tokens > 200000 maximum"}, true
	case m.Kind == "limit":
		return http.StatusTooManyRequests, vendorError{kind: "rate_limit_error", message: "The usage limit has been reached", reset: time.Now().Add(limitDuration)}, true
	case m.status() > 0:
		return m.status(), vendorError{kind: kind(m.status()), message: message(m.status())}, true
	}
	return 0, vendorError{}, false
}

func kind(status int) string {
	switch status {
	case 400:
		return "invalid_request_error"
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 429:
		return "rate_limit_error"
	case 503, 529:
		return "overloaded_error"
	}
	return "api_error"
}

func message(status int) string {
	switch status {
	case 401:
		return "invalid x-api-key"
	case 429:
		return "Rate limit reached, says the stub model"
	case 529:
		return "Overloaded"
	}
	return fmt.Sprintf("the stub model's error %d", status)
}

// header sets the HTTP headers that describe a rate limit or a usage limit. For other errors, it
// sets no headers.
func (f vendorError) header(status int, h http.Header) {
	switch {
	case !f.reset.IsZero():
		reset := strconv.FormatInt(f.reset.Unix(), 10)
		h.Set("retry-after", strconv.Itoa(int(limitDuration.Seconds())))
		h.Set("x-should-retry", "false")
		h.Set("anthropic-ratelimit-unified-status", "rejected")
		h.Set("anthropic-ratelimit-unified-reset", reset)
		h.Set("anthropic-ratelimit-unified-representative-claim", "five_hour")
		h.Set("anthropic-ratelimit-unified-5h-utilization", "1.0")
		h.Set("anthropic-ratelimit-unified-5h-reset", reset)
	case status == http.StatusTooManyRequests:
		h.Set("retry-after", "1")
	}
}
