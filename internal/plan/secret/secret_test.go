package secret_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gaffer/internal/plan/secret"
)

const hush = "hush-hush-0123456789"

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSecurityReferencesAreResolvedFromTheEnvironmentAFileAndACommand(t *testing.T) {
	home := t.TempDir()
	file := write(t, filepath.Join(home, "key"), hush+"\r\n\n")
	write(t, filepath.Join(home, "tell"), "#!/bin/sh\necho \"$1\" >&2\necho \"$1\"\npwd >&2\n")
	r := secret.Resolver{Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "KEY=old", "KEY=" + hush, "OTHER=" + hush}, Dir: home}
	for name, v := range map[string]secret.Value{
		"a text": secret.Text(hush), "the same name": {From: secret.Env}, "another name": {From: secret.Env, Name: "OTHER"},
		"a file": {From: secret.File, Path: file}, "a file from home": {From: secret.File, Path: "~/key"},
		"a command": {From: secret.Command, Argv: []string{"printf", hush}}, "a program of the project": {From: secret.Command, Argv: []string{"./tell", hush}},
	} {
		if err := v.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := r.Resolve(t.Context(), map[string]secret.Value{"KEY": v})
		if err != nil || len(got) != 1 || got[0] != "KEY="+hush {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if missing := r.Missing(map[string]secret.Value{"KEY": v}); len(missing) > 0 {
			t.Errorf("%s: missing: %v", name, missing)
		}
	}
}

func TestSecurityAReferenceWithoutAValueSaysWhatWhyAndWhatNext(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, "empty"), "\n")
	write(t, filepath.Join(home, "long"), strings.Repeat(hush, 10_000))
	write(t, filepath.Join(home, "zero"), hush+"\x00")
	if err := syscall.Mkfifo(filepath.Join(home, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := secret.Resolver{Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "EMPTY="}, Dir: home}
	sh := func(line string) secret.Value {
		return secret.Value{From: secret.Command, Argv: []string{"sh", "-c", line}}
	}
	shut := r
	shut.NoCommands = errors.New("this worker runs no commands")
	for _, c := range []struct {
		r       secret.Resolver
		v       secret.Value
		want    string
		unknown bool // the error is found only when the program is run
	}{
		{r: r, v: secret.Value{From: secret.Env}, want: "KEY (from env): it is not set; set KEY"},
		{r: r, v: secret.Value{From: secret.Env, Name: "OTHER"}, want: "KEY (from env OTHER): it is not set; set OTHER"},
		{r: r, v: secret.Value{From: secret.Env, Name: "EMPTY"}, want: "it is empty"},
		{r: r, v: secret.Value{From: secret.File, Path: "~/none"}, want: "KEY (from file ~/none): no such file or directory; write the file"},
		{r: r, v: secret.Value{From: secret.File, Path: home}, want: "not a regular file"},
		{r: r, v: secret.Value{From: secret.File, Path: "~/pipe"}, want: "not a regular file"},
		{r: r, v: secret.Value{From: secret.File, Path: "~/empty"}, want: "it is empty"},
		{r: r, v: secret.Value{From: secret.File, Path: "~/long"}, want: "more than"},
		{r: r, v: secret.Value{From: secret.File, Path: "~/zero"}, want: "zero byte", unknown: true},
		{r: r, v: secret.Value{From: secret.Command, Argv: []string{"none-such"}}, want: "the program none-such is not in PATH; install it"},
		{r: r, v: secret.Value{From: secret.Command, Argv: []string{"./none"}}, want: "no such file"},
		{r: r, v: sh("f=hush; echo $f-$f; echo $f-$f >&2; exit 7"), want: "exit status 7", unknown: true},
		{r: r, v: sh("true"), want: "it is empty", unknown: true},
		{r: r, v: sh("head -c 100000 /dev/zero | tr '\\0' x"), want: "more than", unknown: true},
		{r: shut, v: sh("echo x"), want: "this worker runs no commands; use from: env or from: file"},
	} {
		vars := map[string]secret.Value{"KEY": c.v}
		_, err := c.r.Resolve(t.Context(), vars)
		failed := (*secret.Error)(nil)
		if !errors.As(err, &failed) {
			t.Errorf("%v: %v, want an error with %q", c.v, err, c.want)
			continue
		}
		text := failed.Error() + "; " + failed.Hint()
		if !strings.Contains(text, c.want) || strings.Contains(text, "hush-hush") {
			t.Errorf("%v: %q, want %q", c.v, text, c.want)
		}
		if missing := c.r.Missing(vars); len(missing) == 0 != c.unknown {
			t.Errorf("%v: before it runs: %v", c.v, missing)
		}
	}
}

func TestSecurityPrintingAValueDoesNotShowItsText(t *testing.T) {
	v := secret.Text(hush)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, x := range []any{v, &v, map[string]secret.Value{"KEY": v}, struct{ Env []secret.Value }{[]secret.Value{v}}} {
			if text := fmt.Sprintf(verb, x); strings.Contains(text, hush) {
				t.Errorf("%s of %T: %s", verb, x, text)
			}
		}
	}
	text, err := json.Marshal(secret.Hide(map[string]secret.Value{"KEY": v}))
	if err != nil || strings.Contains(string(text), hush) {
		t.Errorf("hidden: %s, %v", text, err)
	}
	var again map[string]secret.Value
	if err := json.Unmarshal(text, &again); err == nil || !strings.Contains(err.Error(), "hidden") {
		t.Errorf("a hidden value is read again: %v", err)
	}
}

// Older versions of gaffer read only strings. They must report an error for a reference. If they
// read it as an empty value, they would run the task without the secret.
func TestSecurityATextIsStoredAsBeforeAndAReferenceFailsAnOlderReader(t *testing.T) {
	var vars map[string]secret.Value
	const old = `{"A":"1","B":""}`
	if err := json.Unmarshal([]byte(old), &vars); err != nil || vars["A"].Text != "1" || vars["B"].IsReference() {
		t.Fatalf("read as %v, %v", vars, err)
	}
	text, err := json.Marshal(vars)
	if err != nil || string(text) != old {
		t.Errorf("written as %s, %v", text, err)
	}
	for _, v := range []secret.Value{{From: secret.Env}, {From: secret.File, Path: "/x"}, {From: secret.Command, Argv: []string{"x", "y"}}} {
		text, err := json.Marshal(map[string]secret.Value{"A": v})
		if err != nil {
			t.Fatal(err)
		}
		var older map[string]string
		if err := json.Unmarshal(text, &older); err == nil {
			t.Errorf("an older gaffer reads %s as %q", text, older)
		}
		var newer map[string]secret.Value
		if err := json.Unmarshal(text, &newer); err != nil || newer["A"].String() != v.String() {
			t.Errorf("%s is read as %v, %v", text, newer, err)
		}
	}
	for _, bad := range []string{`{}`, `{"from":"vault"}`, `{"from":"env","key":"x"}`, `{"from":"file"}`, `{"from":"file","path":"x"}`, `{"from":"command"}`, `{"from":"command","argv":[""]}`, `[]`, `{"from":"env","argv":["x"]}`} {
		var v secret.Value
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s is read as %v", bad, v)
		}
	}
}

func TestSecurityATextThatLooksLikeASecretIsFound(t *testing.T) {
	for _, c := range []struct {
		name, text string
		looks      bool
	}{
		{"API_KEY", "abcdef", true},
		{"OPENAI_API_KEY", "x", true},
		{"DB_PASSWORD", "geheim", true},
		{"GITHUB_TOKEN", "abc", true},
		{"githubtoken", "abc", true},
		{"SECRET", "abc", true},
		{"AWS_SECRET_ACCESS_KEY", "abc", true},
		{"X", "sk-" + strings.Repeat("ab1", 10), true},
		{"X", "ghp_abcdefghijklmnopqrst", true},
		{"DATABASE_URL", "postgres://ada:geheim@db/x", true},
		{"X", "-----BEGIN RSA PRIVATE KEY-----\nx", true},
		{"PORT", "8080", false},
		{"VERSION", "1.4.0", false},
		{"MAX_TOKENS", "4096", false},
		{"TOKEN_LIMIT", "100", false},
		{"API_KEY_FILE", "/run/secrets/key", false},
		{"SSH_AUTH_SOCK", "/run/x", false},
		{"API_KEY", "", false},
		{"USE_TOKEN", "true", false},
		{"GIT_AUTHOR_NAME", "ada", false},
		{"URL", "https://example.com/x@y", false},
		{"KEYBOARD", "de", false},
		{"MONKEY", "x", false},
	} {
		if got := secret.LooksSecret(c.name, secret.Text(c.text)); got != c.looks {
			t.Errorf("%s=%s: %v", c.name, c.text, got)
		}
	}
	if secret.LooksSecret("API_KEY", secret.Value{From: secret.Env}) {
		t.Error("a reference looks like a secret")
	}
}

func FuzzValueReadsBack(f *testing.F) {
	for _, seed := range []string{`"x"`, `{"from":"env"}`, `{"from":"file","path":"~/x"}`, `{"from":"command","argv":["a"]}`, `{"from":"hidden"}`, `null`, `{`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v, again secret.Value
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &again); err != nil || again.Text != v.Text || again.String() != v.String() {
			t.Errorf("%q became %s, and that %v: %v", text, data, again, err)
		}
	})
}
