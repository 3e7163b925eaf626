package viewers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/api/viewers"
	"gaffer/internal/flow/spec"
)

const linkedSpec = "# P\n\n## 1 Start {#start}\n\nSee `#flow` and section 2.1.\n\n## 2 Middle\n\n### 2.1 Flow {#flow}\n\n" +
	"**Fast.** Back to #start (1.0), not to `#none`.\n\n### 2.2 End {#end}\n\nText.\n\n## Notes\n\nSee `#end`.\n"

func TestAStoryMapLinksTheSectionsThatNameEachOtherOrShareAScenario(t *testing.T) {
	w := newWorld(t)
	home := w.project("home")
	w.write(home, "spec.md", linkedSpec)
	w.write(home, "state.json", `{"sectionReadiness":{"flow":"aligned"}}`)
	w.write(home, "scenarios.md", "#### Scenario: A\nValidates: `#flow` (2.1), `#end` (2.2), `#none` (9.9)\n#### Scenario: B\nValidates: `#end` (2.2), `#flow` (2.1)\n")
	got, err := w.StoryMap(t.Context(), "")
	want := viewers.StoryMap{
		Sections: []viewers.MapSection{
			{Number: "1", Heading: "Start", Alias: "start", Readiness: "unknown", Level: 2, TopSection: "1"},
			{Number: "2", Heading: "Middle", Alias: "middle", Readiness: "unknown", Level: 2, TopSection: "2"},
			{Number: "2.1", Heading: "Flow", Alias: "flow", Readiness: "aligned", Level: 3, TopSection: "2"},
			{Number: "2.2", Heading: "End", Alias: "end", Readiness: "unknown", Level: 3, TopSection: "2"},
		},
		Edges: []viewers.MapEdge{{From: "start", To: "flow", Type: "cross-ref"}, {From: "flow", To: "start", Type: "cross-ref"}, {From: "flow", To: "end", Type: "scenario-overlap"}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	sections, err := w.Sections(t.Context(), "")
	if err != nil || !cmp.Equal(sections.Sections[2].Claims, []string{"Fast"}) {
		t.Errorf("the claims: %+v, %v", sections, err)
	}
}

func TestADiagramDrawsTheNeighboursOfASection(t *testing.T) {
	w := newWorld(t)
	w.write(w.project("home"), "spec.md", linkedSpec+"\n## A {#a\"]<b>}\n\n`#end`\n")
	got, err := w.Diagrams(t.Context(), "")
	if err != nil || len(got.Diagrams) != 5 {
		t.Fatalf("%+v, %v", got, err)
	}
	const flow = "graph LR\n  s1[\"#flow\"]:::center\n  s0[\"#start\"] --> s1[\"#flow\"]\n  s1[\"#flow\"] --> s0[\"#start\"]\n"
	if d := got.Diagrams["flow"]["dependencies"]; d.Type != "dependencies" || d.Source != flow {
		t.Errorf("%q", d.Source)
	}
	// A title that contains Mermaid syntax must stay text inside a node.
	if source := got.Diagrams["end"]["dependencies"].Source; strings.ContainsAny(source, "<") || !strings.Contains(source, `["#a']b"]`) {
		t.Errorf("%q", source)
	}
}

func TestThePriorityIsWhatTheConfigSays(t *testing.T) {
	w := newWorld(t)
	home := w.project("home")
	for config, want := range map[string]string{
		`{"priority":{"flow":"now"},"color":"red"}`: `{"flow":"now"}`, `{"color":"red"}`: "{}", `{"priority":["flow"]}`: "{}", `{"priority":null}`: "{}",
	} {
		w.write(home, "config.json", config)
		if got, err := w.Priority(t.Context(), "home"); err != nil || string(got.Priority) != want {
			t.Errorf("%s: %s, %v", config, got.Priority, err)
		}
		if got, err := w.Priority(t.Context(), ""); err != nil || string(got.Priority) != "{}" {
			t.Errorf("of all projects: %s, %v", got.Priority, err)
		}
	}
	w.write(home, "config.json", "{")
	if _, err := w.Priority(t.Context(), "home"); code(err) != "invalid_document" {
		t.Errorf("a broken config: %v", err)
	}
}

func TestSecurityLinksAndLongFilesInPlaceOfAProjectsDocuments(t *testing.T) {
	w := newWorld(t)
	home := w.project("home")
	secret := filepath.Join(w.base, "secret")
	if err := os.WriteFile(secret, []byte("## 1 A {#a}\n\nthe secret `#b`\n\n## 2 B {#b}\n\n#### Scenario: the secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	asks := map[string][]func() error{
		spec.File: {
			func() error { _, err := w.Sections(ctx, "home"); return err },
			func() error { _, err := w.StoryMap(ctx, "home"); return err },
			func() error { _, err := w.Similarity(ctx, "home", 0.1); return err },
			func() error { _, err := w.Diagrams(ctx, "home"); return err },
		},
		spec.ScenariosFile: {
			func() error { _, err := w.Scenarios(ctx, "home"); return err },
			func() error { _, err := w.StoryMap(ctx, "home"); return err },
		},
		spec.ConfigFile: {func() error { _, err := w.Priority(ctx, "home"); return err }},
	}
	for name, list := range asks {
		path := filepath.Join(home, ".fctry", name)
		for how, put := range map[string]func() error{
			"a link":      func() error { return os.Symlink(secret, path) },
			"a long file": func() error { return os.WriteFile(path, make([]byte, spec.MaxSize+1), 0o600) },
			"a folder":    func() error { return os.Mkdir(path, 0o700) },
		} {
			if err := put(); err != nil {
				t.Fatal(err)
			}
			for i, ask := range list {
				if err := ask(); code(err) != "invalid_document" {
					t.Errorf("%s as %s, request %d: %v", name, how, i, err)
				}
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}
