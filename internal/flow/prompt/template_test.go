package prompt

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestVariablesAreFilledIn(t *testing.T) {
	values := map[string]string{"A": "1", "B_2": "two", "3": "three"}
	for text, want := range map[string]string{
		"{{A}}":                        "1",
		"x {{ A }} y {{\tB_2 }}{{3}}.": "x 1 y twothree.",
		"{{A}}{{A}}":                   "11",
		"{{{A}}}":                      "{1}",
		"{{{{A}}":                      "{{A}}",
		"{{{{{A}}":                     "{{{A}}",
		"{{{{{{A}}}}":                  "{{1}}",
		"{{":                           "{{",
		"{{A}":                         "{{A}",
		"{A}}":                         "{A}}",
		"{{A B_2}}":                    "{{A B_2}}",
		"{{\nA}}":                      "{{\nA}}",
		"{{.A}} {{#if A}} {{ä}} {{}}":  "{{.A}} {{#if A}} {{ä}} {{}}",
		"":                             "",
		"\r\n50%\n":                    "\r\n50%\n",
	} {
		tmpl := Parse("x", text)
		given := map[string]string{}
		for _, name := range tmpl.Variables() {
			given[name] = values[name]
		}
		if got, err := tmpl.Fill(given, nil); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestAValueIsPutInAsItIs(t *testing.T) {
	got, err := Parse("x", "{{A}}{{B}}").Fill(map[string]string{"A": "{{B}} {{{{ $1 \\", "B": "{{A}}"}, nil)
	if want := `{{B}} {{{{ $1 \{{A}}`; err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func TestGivenValuesOverrideKnownOnes(t *testing.T) {
	got, err := Parse("x", "{{A}} {{B}} {{C}}").Fill(
		map[string]string{"A": "given", "B": ""}, map[string]string{"A": "known", "B": "known", "C": "known", "D": "not used"},
	)
	if err != nil || got != "given  known" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestATemplateIsRecognisedInATextThatHasItsVariablesFilledIn(t *testing.T) {
	for _, c := range []struct {
		template, text string
		want           bool
	}{
		{"# Fix\n{{BUG}}\nDone: {{BEAD_ID}}.\n", "# Fix\nIt crashes.\nDone: bd-1.", true},
		{"# Fix\n{{BUG}}\nDone: {{BEAD_ID}}.\n", "It crashes.", false},
		{"# Fix\n{{BUG}}\n", "# Fix\nIt crashes.\nOn\nlines.", true},
		{"# Fix\n{{BUG}}\n", "Please # Fix\nit", false},
		{"{{A}} and {{B}} end", "x and y end end", true},
		{"{{A}} and {{B}} end", "x and y end.", false},
		{"{{{{x {{A}}", "{{x 1", true},
		{"{{{{x {{A}}", "{{{{x 1", false},
		{"no variables", "no variables\n", true},
		{"no variables", "no variables at all", false},
		{"{{A}}{{B}}", "", true},
		{"aa{{A}}aa", "aaa", false},
	} {
		if got := Parse("x", c.template).FilledIn(c.text); got != c.want {
			t.Errorf("%q in %q: %v, want %v", c.template, c.text, got, c.want)
		}
	}
}

func TestEveryVariableIsNamedOnceInOrder(t *testing.T) {
	got := Parse("x", "{{B}} {{A}} {{B}} {{{{C}} {{ A }}").Variables()
	if !slices.Equal(got, []string{"B", "A"}) {
		t.Errorf("%q", got)
	}
}

func TestAllThatIsMissingIsNamedAtOnce(t *testing.T) {
	_, err := Parse("bug-fix", "{{TASK}} {{FILE}} {{BEAD}}").Fill(nil, map[string]string{"BEAD": "bd-1"})
	missing, ok := errors.AsType[*MissingError](err)
	if !ok || !missing.Usage() || err.Error() != "template bug-fix: no value for TASK, FILE" {
		t.Fatalf("%v", err)
	}
	if want := "give it with --var TASK=value --var FILE=value"; missing.Hint() != want {
		t.Errorf("%q, want %q", missing.Hint(), want)
	}
}

func TestAnUnknownVariableIsRefusedWithASimilarName(t *testing.T) {
	tmpl := Parse("bug-fix", "{{TASK}} {{FILE}}")
	for _, c := range []struct {
		given, known  map[string]string
		message, hint string
	}{
		{map[string]string{"TSAK": "", "TASK": "", "FILE": ""}, nil, "template bug-fix: it has no variable TSAK", "did you mean TASK?"},
		{map[string]string{"task": "", "FILE": ""}, nil, "template bug-fix: it has no variable task; template bug-fix: no value for TASK", "did you mean TASK?"},
		{map[string]string{"BANANA": "", "TASK": "", "FILE": ""}, nil, "template bug-fix: it has no variable BANANA", "it has TASK, FILE"},
		{map[string]string{"BEAD": "", "TASK": "", "FILE": ""}, map[string]string{"BEAD": ""}, "template bug-fix: it has no variable BEAD", "it has TASK, FILE"},
	} {
		_, err := tmpl.Fill(c.given, c.known)
		unknown, ok := errors.AsType[*UnknownError](err)
		if !ok || !unknown.Usage() || err.Error() != c.message || unknown.Hint() != c.hint {
			t.Errorf("%v, want %s with the hint %s", err, c.message, c.hint)
		}
	}
	_, err := Parse("x", "none").Fill(map[string]string{"A": ""}, nil)
	if unknown, ok := errors.AsType[*UnknownError](err); !ok || unknown.Hint() != "it has no variables" {
		t.Errorf("%v", err)
	}
}

func TestATemplateIsDescribedByItsFirstHeading(t *testing.T) {
	for text, want := range map[string]string{
		"# Fix a bug\n\ntext":         "Fix a bug",
		"\n\n## Fix a bug ##\r\ntext": "Fix a bug",
		"text first\n# Fix a bug":     "Fix a bug",
		"#hashtag\nsecond":            "#hashtag",
		"---\n\nFix {{X}}.\nsecond":   "Fix {{X}}.",
		"\n ---\n":                    "",
	} {
		if got := Parse("x", text).Description; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"{{A}}", "{{{A}}}", "{{{{A}}", "{{{{{{{A }}", "# x\n{{ A }}{{B", "}}{{", "\xff{{A}}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "\x00", "")
		doubled := Parse("x", strings.ReplaceAll(text, "{{", "{{{{"))
		if got, err := doubled.Fill(nil, nil); err != nil || got != text {
			t.Fatalf("with its braces doubled it is %q, %v", got, err)
		}
		tmpl, given := Parse("x", text), map[string]string{}
		for _, name := range tmpl.Variables() {
			given[name] = "\x00{{" + name + "}}"
		}
		got, err := tmpl.Fill(given, nil)
		if err != nil {
			t.Fatal(err)
		}
		places := 0
		for _, p := range tmpl.parts {
			if p.variable != "" {
				places++
			}
		}
		if strings.Count(got, "\x00") != places {
			t.Fatalf("%q has not %d values", got, places)
		}
	})
}
