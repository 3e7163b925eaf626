package env

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"gaffer/internal/text/display"
)

func newEnv(t *testing.T, vars map[string]string) *Env {
	return &Env{
		Out: new(bytes.Buffer), Err: new(bytes.Buffer), Dir: t.TempDir(),
		Getenv: func(name string) string { return vars[name] },
	}
}

func TestColorIsDecidedBySettingThenVariablesThenTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		vars map[string]string
		want bool
	}{
		"not a terminal":               {nil, false},
		"forced":                       {map[string]string{"FORCE_COLOR": "1"}, true},
		"forced off":                   {map[string]string{"FORCE_COLOR": "0"}, false},
		"NO_COLOR beats FORCE_COLOR":   {map[string]string{"NO_COLOR": "1", "FORCE_COLOR": "1"}, false},
		"an empty NO_COLOR is no word": {map[string]string{"NO_COLOR": "", "FORCE_COLOR": "1"}, true},
		"always beats NO_COLOR":        {map[string]string{"GAFFER_COLOR": "always", "NO_COLOR": "1"}, true},
		"never beats FORCE_COLOR":      {map[string]string{"GAFFER_COLOR": "never", "FORCE_COLOR": "1"}, false},
		"a broken setting is auto":     {map[string]string{"GAFFER_COLOR": "red", "FORCE_COLOR": "1"}, true},
	} {
		e := newEnv(t, c.vars)
		if got := e.Color(e.Out); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestTheNullDeviceIsNoTerminal(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if display.IsTerminal(null) {
		t.Error("taken for a terminal")
	}
}

func TestPaintKeepsTextUnchangedWithoutColour(t *testing.T) {
	e := newEnv(t, nil)
	if got := e.Paint(e.Out, display.Red, "x"); got != "x" {
		t.Errorf("got %q", got)
	}
	e = newEnv(t, map[string]string{"FORCE_COLOR": "1"})
	if got := e.Paint(e.Out, display.Red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("got %q", got)
	}
}

func TestPrintJSONIndentsAndEscapesNoHTML(t *testing.T) {
	e := newEnv(t, nil)
	if err := e.PrintJSON(map[string]string{"a": "<&>"}); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"a\": \"<&>\"\n}\n"
	if got := e.Out.(*bytes.Buffer).String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheProjectFlagIsRelativeToTheFolderOfTheCommand(t *testing.T) {
	e := newEnv(t, map[string]string{"GAFFER_PROJECT": "elsewhere"})
	if err := os.Mkdir(filepath.Join(e.Dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	root := &cobra.Command{}
	e.GlobalFlags(root)
	if err := root.ParseFlags([]string{"--project", "sub"}); err != nil {
		t.Fatal(err)
	}
	p, err := e.Project()
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(e.Dir, "sub"); p.Root != want || p.From != "--project" {
		t.Errorf("got %+v, want %s from --project", p, want)
	}
}
