package statusline

import (
	"os"
	"path/filepath"
	"testing"
)

func FuzzState(f *testing.F) {
	files, err := filepath.Glob("../../../workflow/testdata/*/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no documents", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		check(t, Read(Documents{Project: "p", State: data, Config: data, Spec: data, Head: data}))
	})
}

func FuzzAgent(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", `{"cwd": "/src"}`, `{"workspace": {"current_dir": "/a/../b"}, "cwd": 7}`, `{"cwd": "\u0000"}`,
		`{"context_window": {"used_percentage": 42}}`, `{"context_window": {"used_percentage": "-1e308"}}`,
		`{"context_window": {"used_percentage": "Inf"}}`, `{"context_window": []}`, `{"workspace": "x"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, dir := range ReadAgent(data).Dirs {
			if !filepath.IsAbs(dir) {
				t.Errorf("%q is relative", dir)
			}
		}
		line := Read(Documents{Project: "p", Agent: data})
		if c := line.Context; c != nil && (c.Percent < 0 || c.Percent > 100) {
			t.Errorf("%d percent", c.Percent)
		}
		check(t, line)
	})
}
