package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWhatIsNoReadableFileIsRefused(t *testing.T) {
	for want, make := range map[string]func(path string) error{
		"found a folder, want a file": func(path string) error { return os.Mkdir(path, 0o755) },
		"found a FIFO, want a file":   func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"found a device, want a file": func(path string) error { return os.Symlink("/dev/null", path) },
		"found more than 1024 KiB": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("# x\n", 1<<18+1)), 0o644)
		},
	} {
		path := filepath.Join(t.TempDir(), "gaffer.yaml")
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		_, err := readFile(path)
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestDeepNestingIsRefusedAndDoesNotExhaustTheStack(t *testing.T) {
	for _, unit := range []string{"[", "{", "- ", "? ", "{a: ", "[{", "&a ", "!a ", "a: ", ": ", "- ? ", "-\n", "!!x [", "? - : "} {
		text := strings.Repeat(unit, (1<<17)/len(unit))
		if _, err := parse("f", []byte(text)); err == nil {
			t.Errorf("%q repeated: accepted", unit)
		}
	}
}
