package viewers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheTextsOfAProjectAreServedAsTheyStand(t *testing.T) {
	w := newWorld(t)
	home := w.project("home")
	ctx := t.Context()
	if _, err := w.Text(ctx, "", "spec.md"); err == nil || !strings.Contains(err.Error(), "has no spec.md") {
		t.Errorf("without a spec: %v", err)
	}
	if text, err := w.Text(ctx, "", "changelog.md"); err != nil || !strings.Contains(string(text), "No changelog yet") {
		t.Errorf("without a changelog: %q, %v", text, err)
	}
	const spec = "# Demo\r\n<script>&\x00 ü\n"
	w.write(home, "spec.md", spec)
	w.write(home, "changelog.md", "## 1.0\n")
	w.write(home, "lessons.md", "- look\n")
	for name, want := range map[string]string{"spec.md": spec, "changelog.md": "## 1.0\n", "lessons.md": "- look\n"} {
		if text, err := w.Text(ctx, "home", name); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"state.json", "config.json", "../gaffer.yaml", ""} {
		if text, err := w.Text(ctx, "", name); err == nil {
			t.Errorf("%q: %q", name, text)
		}
	}
	// A document that is a link must not be followed: its target must not appear.
	secret := filepath.Join(w.base, "secret")
	if err := os.WriteFile(secret, []byte("a secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(home, ".fctry", "spec.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(home, ".fctry", "spec.md")); err != nil {
		t.Fatal(err)
	}
	if text, err := w.Text(ctx, "", "spec.md"); err == nil {
		t.Errorf("by a link: %q", text)
	}
}

func TestTheDashboardShowsHowAllProjectsStand(t *testing.T) {
	w := newWorld(t)
	home, other := w.project("home"), w.register("other")
	w.write(home, "spec.md", "# P\n\n```yaml\n---\nstatus: active\nsynopsis:\n  short: \"A demo: # 1\"\n  medium: Longer\n---\n```\n\n## 1 Flow {#flow}\n\nText.\n")
	w.write(home, "config.json", `{"versions":{"external":{"current":"1.2.0"}},"color":"#fff"}`)
	w.write(home, "state.json", `{"readinessSummary":{"aligned":28,"spec-ahead":5,"totalSections":33,"scenariosTotal":9},"untrackedChanges":[{"file":"a"}]}`)
	w.write(home, "inbox.json", `[{"id":"1","status":"pending"},{"id":"2","status":"incorporated"}]`)
	w.write(other, "state.json", `[`)
	board, err := w.Dashboard(t.Context())
	if err != nil || len(board.Projects) != 2 || board.Active != other {
		t.Fatalf("%+v, %v", board, err)
	}
	c := board.Projects[0]
	if c.SynopsisShort == nil || *c.SynopsisShort != "A demo: # 1" {
		t.Errorf("the synopsis is %v", c.SynopsisShort)
	}
	if c.SpecStatus != "active" || *c.ExternalVersion != "1.2.0" || *c.AccentColor != "#fff" || c.Readiness.Ready != 28 || c.Readiness.Total != 33 ||
		len(c.Readiness.Summary) != 2 || c.Inbox.Pending != 1 || c.Inbox.Total != 2 || c.Untracked != 1 || c.Build != nil || *c.Recommendation.Command != "/fctry:evolve" {
		t.Errorf("the card is %+v", c)
	}
	// A project that cannot be read must not hide the other projects.
	if bad := board.Projects[1]; bad.SynopsisShort != nil || bad.Recommendation.Command != nil || !strings.Contains(bad.Recommendation.Reason, "cannot be read") {
		t.Errorf("the broken one is %+v", bad)
	}
	w.write(home, "state.json", `{"workflowStep":"executor-build","chunkProgress":{"current":1,"total":2},"sectionReadiness":{"flow":"spec-ahead"}}`)
	board, err = w.Dashboard(t.Context())
	if err != nil || board.Projects[0].Build == nil || board.Projects[0].Build.Step != "executor-build" || board.Projects[0].Readiness.Total != 1 {
		t.Errorf("while a build is under way: %+v, %v", board.Projects[0], err)
	}
	sections, err := w.Sections(t.Context(), "home")
	if err != nil || len(sections.Sections) != 1 {
		t.Fatalf("%+v, %v", sections, err)
	}
	if s := sections.Sections[0]; s.Alias != "flow" || s.Number != "1" || s.Heading != "Flow" || s.Readiness != "spec-ahead" || s.Body != "Text." {
		t.Errorf("the section is %+v", s)
	}
}
