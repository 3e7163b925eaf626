package verify_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"gaffer/internal/attempt/verify"
	"gaffer/workflow"
)

func TestInvalidChecksAreRefused(t *testing.T) {
	for _, c := range []verify.Check{
		{Command: "true"},
		{File: "a/b", Timeout: verify.Duration(time.Hour)},
		{File: "a/../b*"},
		{URL: "http://localhost:3000/#/route"},
		{URL: "https://[::1]/", Status: 404, Contains: "x", Screenshot: true},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for want, bad := range map[string][]verify.Check{
		"has none":               {{}, {Name: "x"}, {Contains: "x"}},
		"has more than one":      {{Command: "a", File: "b"}, {File: "a", URL: "http://b/"}},
		"which only a url":       {{Command: "a", Status: 200}, {File: "a", Contains: "b"}, {Command: "a", Screenshot: true}},
		"within the work folder": {{File: "../x"}, {File: "a/../../x"}, {File: "/etc/passwd"}, {File: ".."}},
		"begins with http":       {{URL: "file:///etc/passwd"}, {URL: "--headless"}, {URL: "javascript:1"}, {URL: "http://"}, {URL: "/x"}, {URL: "http://a\n/"}},
		"status is":              {{URL: "http://a/", Status: 99}, {URL: "http://a/", Status: -1}, {URL: "http://a/", Status: 600}},
		"timeout is":             {{Command: "a", Timeout: -1}, {Command: "a", Timeout: verify.Duration(48 * time.Hour)}},
		"not UTF-8":              {{Command: "a\xff"}, {Command: "a\x00b"}, {Name: "\xff", File: "a"}},
	} {
		for _, c := range bad {
			var invalid *verify.RequestError
			if err := c.Validate(); !errors.As(err, &invalid) || !invalid.Invalid() || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", c, err, want)
			}
		}
	}
}

func TestADurationHasATextForm(t *testing.T) {
	var c verify.Check
	if err := json.Unmarshal([]byte(`{"command":"true","timeout":"1m30s"}`), &c); err != nil || c.Timeout != verify.Duration(90*time.Second) {
		t.Fatalf("%+v %v", c, err)
	}
	data, err := json.Marshal(c)
	if err != nil || string(data) != `{"command":"true","timeout":"1m30s"}` {
		t.Errorf("%s %v", data, err)
	}
}

func TestATitleIsOnePrintableLine(t *testing.T) {
	for _, c := range []struct {
		check verify.Check
		want  string
	}{
		{verify.Check{Name: " tidy  name "}, "tidy name"},
		{verify.Check{Command: "go test \\\n  ./..."}, `go test \ ./...`},
		{verify.Check{File: "dist/app.js"}, "dist/app.js exists"},
		{verify.Check{Name: "\x1b[2J\x1b]0;title\x07red\r\nalert\x07"}, "red alert\ufffd"},
		{verify.Check{Name: "a\u202eb\u0085c"}, "a\ufffdb c"},
		{verify.Check{Name: "../../etc/passwd"}, "../../etc/passwd"},
		{verify.Check{Name: strings.Repeat("ä", 10_000)}, strings.Repeat("ä", 119) + "…"},
	} {
		if c.check.Command == "" && c.check.File == "" {
			c.check.Command = "true"
		}
		o := run(t, verify.Request{Mode: workflow.Full, Checks: []verify.Check{c.check}}, verify.Tools{})
		if o.Checks[0].Name != c.want || o.Details[0].Name != c.want {
			t.Errorf("%+v: %q", c.check, o.Checks[0].Name)
		}
	}
}

// The output of a check may come from a hostile program, and gaffer shows it in a prompt, a
// document and a terminal.
func FuzzKeptOutputIsPrintable(f *testing.F) {
	f.Add("plain\ntext", 3)
	f.Add("\x1b[31mred\x1b[0m\r50%\r100%\x00\xff\u202e", 2000)
	f.Add("\x1b]8;;http://x\x1b\\link", 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		got := verify.Shown(text, n)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > max(n, 0) {
			t.Fatalf("%q", got)
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				t.Fatalf("%q in %q", r, got)
			}
		}
	})
}

func TestABrowserIsFoundByNameAndByTheVariable(t *testing.T) {
	t.Setenv(verify.BrowserVariable, "/no/such/browser")
	if found := verify.FindTools(); found.Browser != "" || found.Missing == "" {
		t.Errorf("%+v", found)
	}
	t.Setenv(verify.BrowserVariable, "sh")
	if found := verify.FindTools(); !strings.HasSuffix(found.Browser, "/sh") {
		t.Errorf("%+v", found)
	}
	t.Setenv(verify.BrowserVariable, "")
	t.Setenv("PATH", t.TempDir())
	if found := verify.FindTools(); found.Browser != "" || found.Missing != "no browser found" {
		t.Errorf("%+v", found)
	}
}
