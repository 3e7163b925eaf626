package docview_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"gaffer/internal/api/docview"
	"gaffer/statefile/host"
	"gaffer/team"
)

func FuzzAnyBytesGiveAPicture(f *testing.F) {
	for _, text := range evil {
		f.Add([]byte(text))
	}
	for _, files := range []string{"team", "session", "workflow"} {
		names, err := filepath.Glob(filepath.Join("..", "..", "..", files, "testdata", "wild", "*.json"))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	root := f.TempDir()
	file := filepath.Join(root, "sessions", "s", "status.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		crew, build := docview.NewTeam(), &docview.Build{}
		for _, d := range team.Documents() {
			crew.Setter(d)(data, nil)
		}
		build.SetState(data, nil)
		build.SetInbox(data, nil)
		put(t, file, string(data))
		age(t, file) // an old file, because a new one might count as being written
		shelf := docview.NewSessionReader(host.OS(), root)
		one, err := shelf.Session("s")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []any{crew.Picture(), picture(build), shelf.List(), one} {
			if text, err := json.Marshal(p); err != nil || !json.Valid(text) {
				t.Errorf("%T: %v", p, err)
			}
		}
	})
}
