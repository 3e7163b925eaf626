package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSecurityTrustIsForOneContentInOneFolder(t *testing.T) {
	home, root, other := t.TempDir(), t.TempDir(), t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	codex := Program{"agents.codex", `{"argv":["./agent.sh"]}`}
	changed := Program{"agents.codex", `{"argv":["./evil.sh"]}`}
	untrusted := (*Error)(nil)
	if err := Check(getenv, root, []Program{codex}); !errors.As(err, &untrusted) || len(untrusted.Programs) != 1 {
		t.Fatalf("before: %v", err)
	}
	if err := Add(getenv, root, []Program{codex}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := Check(getenv, root, []Program{codex}); err != nil {
		t.Errorf("after: %v", err)
	}
	if err := Check(getenv, root, nil); err != nil {
		t.Errorf("of nothing: %v", err)
	}
	if Check(getenv, root, []Program{changed}) == nil {
		t.Error("a program that has changed is trusted")
	}
	if Check(getenv, root, []Program{codex, {"agents.other", "x"}}) == nil {
		t.Error("a program that was added is trusted")
	}
	if Check(getenv, other, []Program{codex}) == nil {
		t.Error("another folder is trusted")
	}
	list, err := List(getenv)
	if err != nil || len(list) != 1 || list[0].Programs[0] != codex {
		t.Errorf("listed %v, %v", list, err)
	}
	if err := Remove(getenv, root); err != nil {
		t.Fatal(err)
	}
	if Check(getenv, root, []Program{codex}) == nil {
		t.Error("it is trusted after that was revoked")
	}
	if err := Remove(getenv, root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("revoked twice: %v", err)
	}
}

func TestSecurityABrokenFileTrustsNothingAndIsReported(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	p := []Program{{"agents.codex", "x"}}
	if err := Add(getenv, root, p, time.Now()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(home, ".local/state/gaffer/trust/*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if Check(getenv, root, p) == nil {
		t.Error("it trusts")
	}
	if _, err := List(getenv); err == nil {
		t.Error("it is not reported")
	}
}
