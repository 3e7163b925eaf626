package report

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestAPageThatCannotBeWrittenKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	write := func(text string, err error) error {
		return replace(path, func(w io.Writer) error {
			_, _ = io.WriteString(w, text)
			return err
		})
	}
	if err := write("first", nil); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk is full")
	if err := write("second", full); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "first" {
		t.Errorf("%q, %v", data, err)
	}
	if names, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func TestTheLocaleDecidesWhatIsDrawn(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", true},
		{"", "", "en_GB.UTF-8", true},
		{"", "", "C.utf8", true},
		{"", "", "C", false},
		{"POSIX", "", "en_GB.UTF-8", false},
		{"", "de_DE.ISO-8859-1", "en_GB.UTF-8", false},
		{"C.UTF-8", "C", "C", true},
	} {
		vars := map[string]string{"LC_ALL": c.all, "LC_CTYPE": c.ctype, "LANG": c.lang}
		if got := drawsUnicode(func(name string) string { return vars[name] }); got != c.want {
			t.Errorf("%v: %v", vars, got)
		}
	}
}
