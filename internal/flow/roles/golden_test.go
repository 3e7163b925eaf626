package roles

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"gaffer/internal/flow/teamstate"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff")

func TestThePromptsOfTheExampleMatchTheGoldenFiles(t *testing.T) {
	s := load(t)
	for purpose, b := range briefs(t) {
		u, _ := useFor(purpose)
		t.Run(u.name, func(t *testing.T) { golden(t, s, b, u.name) })
	}
	b := briefs(t)["work"]
	b.Step.Again = "the answer has no status: neither an object with \"status\" nor a line \"**Status:** WORD\""
	b.Unusable = "All of it is done. I also made the limit a setting.\n\nREADY"
	t.Run("again", func(t *testing.T) { golden(t, s, b, "developer-work-again") })
}

func golden(t *testing.T, s Set, b teamstate.Brief, name string) {
	t.Helper()
	got, err := s.Prompt(b)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".md")
	if *update {
		put(t, path, got)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./internal/flow/roles -update writes it", err)
	}
	if got != string(want) {
		t.Errorf("differs from %s; go test ./internal/flow/roles -update rewrites it\n%s", path, got)
	}
}
