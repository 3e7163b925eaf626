package session

import (
	"errors"
	"strings"
	"testing"

	"gaffer/internal/cli/env"
	"gaffer/session"
)

func TestRemovedSessionsArePrintedDespiteALaterError(t *testing.T) {
	for want, asJSON := range map[string]bool{"a\n": false, "[\n  {\n    \"session_id\": \"a\"\n  }\n]\n": true} {
		var out strings.Builder
		full := errors.New("disk full")
		err := printCleaned(&env.Env{Out: &out}, []session.Cleaned{{ID: "a"}}, full, asJSON)
		if out.String() != want || !errors.Is(err, full) {
			t.Errorf("json %v: %q, %v, want %q", asJSON, out.String(), err, want)
		}
	}
}
