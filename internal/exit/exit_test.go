package exit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// kinds is an error whose methods return these values.
type kinds struct{ notFound, conflict, busy, invalid, usage bool }

func (kinds) Error() string    { return "kinds" }
func (k kinds) NotFound() bool { return k.notFound }
func (k kinds) Conflict() bool { return k.conflict }
func (k kinds) Busy() bool     { return k.busy }
func (k kinds) Invalid() bool  { return k.invalid }
func (k kinds) Usage() bool    { return k.usage }

// outer wraps an error. Its methods return false and "", so the methods of the wrapped error must
// decide.
type outer struct{ err error }

func (o outer) Error() string    { return "outer: " + o.err.Error() }
func (o outer) Unwrap() error    { return o.err }
func (outer) NotFound() bool     { return false }
func (outer) Hint() string       { return "" }
func wrap(err error) error       { return fmt.Errorf("a: %w", fmt.Errorf("b: %w", err)) }
func joined(err error) error     { return errors.Join(errors.New("other"), err) }
func plain(text string) error    { return errors.New(text) }
func missingFile(p string) error { return &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist} }

func TestTheExitCodeFollowsFromTheKindOfError(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want Code
	}{
		"no error":                    {nil, CodeDone},
		"plain":                       {plain("x"), CodeFailed},
		"marked usage":                {Usage(plain("x")), CodeUsage},
		"marked usage of nothing":     {Usage(nil), CodeDone},
		"marked not found, wrapped":   {wrap(NotFound(plain("x"))), CodeNotFound},
		"marked conflict":             {Conflict(plain("x")), CodeConflict},
		"marked invalid":              {Invalid(plain("x")), CodeInvalid},
		"says not found":              {wrap(kinds{notFound: true}), CodeNotFound},
		"says conflict":               {wrap(kinds{conflict: true}), CodeConflict},
		"says busy":                   {wrap(kinds{busy: true}), CodeConflict},
		"says invalid":                {wrap(kinds{invalid: true}), CodeInvalid},
		"says usage":                  {wrap(kinds{usage: true}), CodeUsage},
		"says nothing":                {wrap(kinds{}), CodeFailed},
		"one of several says invalid": {joined(kinds{invalid: true}), CodeInvalid},
		"the inner one says yes":      {outer{kinds{notFound: true}}, CodeNotFound},
		"missing file":                {wrap(missingFile("f")), CodeNotFound},
		"mark is stronger than kind":  {Usage(missingFile("f")), CodeUsage},
		"a hint keeps the code":       {WithHint(missingFile("f"), "h"), CodeNotFound},
		"cancelled":                   {wrap(context.Canceled), CodeInterrupted},
		"deadline passed":             {wrap(context.DeadlineExceeded), CodeFailed},
		"interrupted":                 {Interrupted(Usage(plain("x"))), CodeInterrupted},
	} {
		if got := Of(c.err); got != c.want {
			t.Errorf("%s: code %d, want %d", name, got, c.want)
		}
	}
}

func TestTheTableNamesEveryCode(t *testing.T) {
	all := []Code{CodeDone, CodeFailed, CodeUsage, CodeNotFound, CodeConflict, CodeInvalid, CodeInterrupted}
	lines := strings.Split(strings.TrimSuffix(Table(), "\n"), "\n")
	if len(lines) != len(all) {
		t.Fatalf("%d lines for %d codes", len(lines), len(all))
	}
	for i, code := range all {
		if want := fmt.Sprintf("%3d  %s ", int(code), code); !strings.Contains(lines[i], want) {
			t.Errorf("line %q does not contain %q", lines[i], want)
		}
	}
}

func TestTheTextHasTheMessageAndTheHint(t *testing.T) {
	for want, err := range map[string]error{
		"gaffer: x":                    plain("x"),
		"gaffer: x\nhint: do y":        WithHint(plain("x"), "do y"),
		"gaffer: outer: x\nhint: do y": outer{WithHint(plain("x"), "do y")},
	} {
		if got := Text(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestReportJSONIsOneObjectOnOneLine(t *testing.T) {
	var b bytes.Buffer
	ReportJSON(&b, WithHint(NotFound(plain("no <session>")), "list them"))
	want := `{"error":{"code":"not_found","message":"no <session>","hint":"list them"}}` + "\n"
	if b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}
