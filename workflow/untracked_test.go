package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func TestAnUntrackedChangeIsKeptOnceForEachFileAndSection(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", fixture(t, "seed", "state.json"))
	for _, c := range []workflow.UntrackedChange{
		{File: "src/statusline/fctry-statusline.js", Section: "#status-line", SectionNumber: "2.12", Timestamp: "2026-02-14T00:00:00Z"},
		{File: "src/statusline/fctry-statusline.js", Section: "status-line", SectionNumber: "2.12", Timestamp: "2026-02-13T00:00:00Z"},
		{File: "src/viewer/server.js", Section: "spec-viewer", SectionNumber: "2.9", Timestamp: "2026-02-14T00:00:00Z"},
	} {
		p.must(func(root *jsontree.Node) error { return workflow.AddUntracked(root, c) })
	}
	got := p.state().UntrackedChanges
	if len(got) != 2 || got[0].Timestamp != "2026-02-14T00:00:00Z" || got[1].File != "src/viewer/server.js" {
		t.Errorf("%+v", got)
	}
	p.must(func(root *jsontree.Node) error { return workflow.ClearUntracked(root, "#status-line") })
	p.must(func(root *jsontree.Node) error { return workflow.ClearUntracked(root, "2.9", "") })
	if got := p.state().UntrackedChanges; len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAFileIsMappedToItsSectionsByGlobs(t *testing.T) {
	mappings := []workflow.Mapping{
		{Glob: "src/statusline/**", Section: "status-line"},
		{Glob: "src/**/*.js", Section: "scripts"},
		{Glob: "**/server.js", Section: "viewer"},
		{Glob: "src/viewer/*", Section: "#viewer"},
		{Glob: "README.md", Section: "readme"},
	}
	for file, want := range map[string][]string{
		"src/statusline/a/b.go":  {"status-line"},
		"./src/statusline/x.js":  {"status-line", "scripts"},
		"src/x.js":               {"scripts"},
		"src/viewer/server.js":   {"scripts", "viewer"},
		"server.js":              {"viewer"},
		"docs/README.md":         nil,
		"README.md":              {"readme"},
		"src/viewer/deep/x.go":   nil,
		"other/src/statusline/x": nil,
	} {
		found, err := workflow.SectionsOf(file, mappings)
		var got []string
		for _, m := range found {
			got = append(got, m.Section)
		}
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", file, got, err, want)
		}
	}
	if _, err := workflow.SectionsOf("x", []workflow.Mapping{{Glob: "a/[b"}}); says(err) != "usage" {
		t.Errorf("a broken glob: %v", err)
	}
}
