package yamldoc_test

import (
	"errors"
	"strings"
	"testing"

	"gaffer/internal/yamldoc"
)

func TestAFileBeyondTheParsersLimitsIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"brackets":           {"a: " + strings.Repeat("[", 200_000), "more than 100 levels"},
		"dashes":             {strings.Repeat("- ", 200_000), "more than 100 levels"},
		"keys with ?":        {strings.Repeat("? ", 200_000), "more than 100 levels"},
		"many keys":          {strings.Repeat("key: 1\n", 20_000), "too many keys"},
		"many words":         {"a: [" + strings.Repeat("1, ", 600_000) + "1]", "too much for one file"},
		"a second document":  {"a: 1\n---\nb: 1\n", "second YAML document"},
		"a quote left open":  {"a: \"b\n", "a quote that is never closed"},
		"the same key twice": {"a: 1\na: 2\n", "not YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := yamldoc.Parse([]byte(c.text))
			problem, ok := errors.AsType[*yamldoc.Error](err)
			if n != nil || !ok || !strings.Contains(problem.Problem, c.want) {
				t.Errorf("%v, %v", n, err)
			}
		})
	}
}

func TestAnUnknownKeyIsReportedWithItsPosition(t *testing.T) {
	n, err := yamldoc.Parse([]byte("\ufeffname: x\nlist:\n  - nam: y\n"))
	if err != nil {
		t.Fatal(err)
	}
	var into struct {
		Name string
		List []struct{ Name string }
	}
	err = yamldoc.Decode(n, &into)
	problem, ok := errors.AsType[*yamldoc.Error](err)
	if !ok || problem.Line != 3 || problem.Column != 5 || problem.Problem != `unknown field "nam"` {
		t.Errorf("%+v", err)
	}
}

func TestAnEmptyFileHasNoBody(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "---\n"} {
		if n, err := yamldoc.Parse([]byte(text)); err != nil || n != nil {
			t.Errorf("%q: %v, %v", text, n, err)
		}
	}
}
