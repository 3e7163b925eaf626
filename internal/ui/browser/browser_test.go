package browser

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestBROWSERComesBeforeTheSystemsBrowser(t *testing.T) {
	const url = "http://127.0.0.1:1/login?code=a&to=%23/b"
	for name, c := range map[string]struct {
		vars   map[string]string
		system string
		want   [][]string
	}{
		"nothing":           {nil, "linux", nil},
		"a display":         {map[string]string{"DISPLAY": ":0"}, "linux", [][]string{{"xdg-open", url}}},
		"wayland":           {map[string]string{"WAYLAND_DISPLAY": "w"}, "freebsd", [][]string{{"xdg-open", url}}},
		"a Mac":             {nil, "darwin", [][]string{{"open", url}}},
		"a Mac from afar":   {map[string]string{"SSH_CONNECTION": "x", "DISPLAY": ":0"}, "darwin", nil},
		"BROWSER":           {map[string]string{"BROWSER": "firefox -P work", "DISPLAY": ":0"}, "linux", [][]string{{"firefox", "-P", "work", url}, {"xdg-open", url}}},
		"several":           {map[string]string{"BROWSER": "a:b --url=%s x: "}, "linux", [][]string{{"a", url}, {"b", "--url=" + url, "x"}}},
		"no shell is asked": {map[string]string{"BROWSER": "a;rm $HOME"}, "linux", [][]string{{"a;rm", "$HOME", url}}},
	} {
		if diff := cmp.Diff(c.want, programs(env(c.vars), c.system, url)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestTheNextProgramIsTriedIfOneFails(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "opens")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf %s \"$1\" > \"$0.url\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"BROWSER": filepath.Join(dir, "missing") + ":false:" + script}
	if err := Open(t.Context(), env(vars), "http://x/?a=1&b=2"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(script + ".url"); err != nil || string(got) != "http://x/?a=1&b=2" {
		t.Errorf("%q, %v", got, err)
	}
	err := Open(t.Context(), env(map[string]string{"BROWSER": "false"}), "http://x")
	if err == nil || !strings.Contains(err.Error(), "false: exit code 1") {
		t.Errorf("%v", err)
	}
	if err := Open(t.Context(), env(nil), "http://x"); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}
