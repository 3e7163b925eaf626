package statefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

func TestOnlyLeftoversOfDeadWritersAreDeleted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	for _, name := range []string{"a.json", ".a.json.tmp-1-00000000", ".a.json.new-1-00000000", ".a.json.flock", ".b.json.tmp-1-00000000", ".a.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := statefile.Sweep(host.OS(), path); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	left := ""
	for _, e := range entries {
		left += e.Name() + " "
	}
	if want := ".a.json .a.json.flock .b.json.tmp-1-00000000 a.json "; left != want {
		t.Errorf("left %s, want %s", left, want)
	}
	if err := statefile.Sweep(host.OS(), filepath.Join(dir, "absent", "a.json")); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}
