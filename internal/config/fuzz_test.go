package config

import (
	"errors"
	"testing"
)

// FuzzParse parses arbitrary bytes. The parser must not panic. Each value that it returns must be
// valid, and each error must name the file.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "color: never", "paths:\n  session: x\n", "{color: auto}", "- a", "color: [",
		"a: &a [*a]", "team: {tests: [a, b], roles: {pm: {agent: x}}}", "team.tests: [a, [b]]", "? a\n: b", "<<: *x", "color: |\n  auto", "--- a\n--- b", "\x00", "lock_timeout: 1e9s",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := parse("gaffer.yaml", data)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Origin.File != "gaffer.yaml" {
				t.Errorf("%v does not name its file", err)
			}
			return
		}
		for _, v := range values {
			if err := v.Key.check(v.Text); err != nil {
				t.Errorf("%s: %v", v.Key.Name, err)
			}
		}
	})
}
