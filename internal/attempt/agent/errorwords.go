package agent

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gaffer/internal/engine/failure"
)

// classify returns the failure class of a program's error. It first looks for words in text that
// say that the prompt was too long, then at the HTTP status, then for other words in text. If
// status is 0, classify looks for an HTTP status in text.
func classify(status int, text string) failure.Class {
	text = strings.ToLower(firstChars(text, 4000))
	if containsAny(text, "prompt is too long", "context window", "context_length_exceeded", "context length", "token count exceeds") {
		return failure.ContextOverflow
	}
	if status == 0 {
		status = statusIn(text)
	}
	switch {
	case status == 429:
		return failure.RateLimited
	case status == 401 || status == 403:
		return failure.Auth
	case status >= 400:
		return failure.APIError
	}
	return classifyWords(text)
}

func classifyWords(text string) failure.Class {
	switch {
	case containsAny(text, "usage limit", "rate limit", "rate_limit", "hit your limit", "session limit", "weekly limit", "too many requests", "resource_exhausted", "quota"):
		return failure.RateLimited
	case containsAny(text, "unauthorized", "authentication", "api key", "not logged in", "/login", "missing environment variable"):
		return failure.Auth
	case containsAny(text, "api error", "overloaded", "server_error", "high demand", "stream disconnected", "stream closed", "error sending request", "connection"):
		return failure.APIError
	}
	return failure.Crashed
}

func containsAny(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// statusPattern matches an HTTP status as the programs print it.
var statusPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:status:?|status code:?|"code":|rejected \(|api error:?) ?"?([45]\d\d)\b`)
})

func statusIn(lower string) int {
	if m := statusPattern().FindStringSubmatch(lower); m != nil {
		status, _ := strconv.Atoi(m[1])
		return status
	}
	return 0
}
