package spec_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/flow/spec"
	"gaffer/workflow"
)

// folder creates a workflow folder with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func read(t *testing.T, files map[string]string) spec.Spec {
	t.Helper()
	s, err := spec.Read(folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const demo = "# Demo — Natural Language Specification\n" + `
` + "```yaml\n---\ntitle: Demo\nspec-version: 2.0\nstatus: draft\n---\n```" + `

Demo shows a spec.

## Table of Contents

1. [Vision](#1-vision) core flow onboarding
   - 2.2 [Core Flow](#22-core-flow) ` + "`#core-flow`" + `

## 1. Vision and Principles

### 1.1 Problem Statement {#problem-statement}

Onboarding is slow.

## 2. The Experience

### 2.2 Core Flow {#core-flow version=2.1}

The person opens the viewer. See src/viewer/server.js.

` + "```sh\n# not a heading\n## nor this\n```" + `

### 2.12 Status Line {#status-line}

**Readiness:** spec-ahead
**Version:** 1.9

Lives in ` + "`src/statusline/`" + `.

## Appendix A: Decision Rationale
`

func TestASpecIsItsSections(t *testing.T) {
	s := read(t, map[string]string{"spec.md": demo, "config.json": `{"versions": {"spec": {"current": "2.1"}}}`})
	if !s.Found || s.Version != "2.1" || s.Status != "draft" {
		t.Errorf("found %v, version %q, status %q", s.Found, s.Version, s.Status)
	}
	type row struct{ Alias, Number, Title, Version, Readiness string }
	var got []row
	for _, section := range s.Sections {
		got = append(got, row{section.Alias, section.Number, section.Title, section.Version, section.Readiness})
	}
	want := []row{
		{"#table-of-contents", "", "Table of Contents", "", ""},
		{"#vision-and-principles", "1", "Vision and Principles", "", ""},
		{"#problem-statement", "1.1", "Problem Statement", "", ""},
		{"#the-experience", "2", "The Experience", "", ""},
		{"#core-flow", "2.2", "Core Flow", "2.1", ""},
		{"#status-line", "2.12", "Status Line", "1.9", "spec-ahead"},
		{"#appendix-a-decision-rationale", "", "Appendix A: Decision Rationale", "", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := s.Sections[4].Text; !strings.HasPrefix(text, "The person opens") || !strings.HasSuffix(text, "## nor this\n```") {
		t.Errorf("text %q", text)
	}
}

func TestHeadingsOfAnyMarkdownAreRead(t *testing.T) {
	for line, want := range map[string]spec.Section{
		"### 2.2 Core Flow {#core-flow}": {Alias: "#core-flow", Number: "2.2", Title: "Core Flow"},
		"## 1. Vision":                   {Alias: "#vision", Number: "1", Title: "Vision"},
		"## 3) Things":                   {Alias: "#things", Number: "3", Title: "Things"},
		"   ## Indented by three ##":     {Alias: "#indented-by-three", Title: "Indented by three"},
		"#### **Bold** title":            {Alias: "#bold-title", Title: "Bold title"},
		"## 2026 in review":              {Alias: "#2026-in-review", Title: "2026 in review"},
		"## 2.2.1":                       {Alias: "#section", Number: "2.2.1"},
		"##":                             {Alias: "#section"},
		"## [2.4 Linked](#x)":            {Alias: "#linked", Number: "2.4", Title: "Linked"},
		"## Listed `#listed-here`":       {Alias: "#listed-here", Title: "Listed"},
		"## Braces {and more}":           {Alias: "#braces-and-more", Title: "Braces {and more}"},
		"## A {.x #y readiness=draft version=v1.2}": {Alias: "#y", Title: "A", Readiness: "draft", Version: "v1.2"},
		"## Überblick: été":                         {Alias: "#überblick-été", Title: "Überblick: été"},
		"# 1 Numbered at the top":                   {Alias: "#numbered-at-the-top", Number: "1", Title: "Numbered at the top"},
		"# Named {#top}":                            {Alias: "#top", Title: "Named"},
	} {
		s := spec.Parse([]byte(line + "\r\n"))
		if len(s.Sections) != 1 {
			t.Errorf("%s: %d sections", line, len(s.Sections))
			continue
		}
		want.Level = s.Sections[0].Level
		if diff := cmp.Diff(want, s.Sections[0]); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestWhatIsNoHeadingMakesNoSection(t *testing.T) {
	for _, text := range []string{
		"", "\n\n", "# Only a title", "#hashtag", "####### seven", "    ## indented by four", "text ## not at the start",
		"```\n## in a fence\n```", "~~~~ md\n## a\n~~~\n## b\n~~~~", "```\n## a fence that never ends", "<!--\n## commented\n-->",
		"````\n```\n## in the outer fence\n```\n````", "\x00\xff\xfe",
	} {
		if s := spec.Parse([]byte(text)); len(s.Sections) > 0 {
			t.Errorf("%q: %+v", text, s.Sections)
		}
	}
	for _, text := range []string{"``` not ` a fence\n## yes", "```\n```\n## yes", "<!-- one line -->\n## yes", "~~~\n~~~~~\n## yes"} {
		if s := spec.Parse([]byte(text)); len(s.Sections) != 1 {
			t.Errorf("%q: %+v", text, s.Sections)
		}
	}
}

func TestFrontMatterGivesVersionAndStatus(t *testing.T) {
	for text, want := range map[string][2]string{
		"---\nspec-version: 1.2\nstatus: active\n---\n# T":  {"1.2", "active"},
		"---\nversion: \"3\" # old\nStatus: 'draft'\n---\n": {"3", "draft"},
		"---\nversion: 1\nspec-version: 2\n---\n":           {"2", ""},
		"\ufeff---\r\nversion: v1.2\r\n---\r\n":             {"v1.2", ""},
		"# T\n\n```yaml\n---\nspec-version: 0.1\n---\n```":  {"0.1", ""},
		"# T\n\n---\nversion: 9\n---\n":                     {"", ""}, // horizontal rules, not front matter
		"---\nversion: 9\n":                                 {"", ""}, // not front matter, because it is not closed
		"---\nnested:\n  version: 9\n---\n":                 {"", ""},
		"---\nversion: soon\n---\n":                         {"", ""},
		"version: 1":                                        {"", ""},
	} {
		s := spec.Parse([]byte(text))
		if got := [2]string{s.Version, s.Status}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestTheConfigFilesVersionHasPrecedence(t *testing.T) {
	for config, want := range map[string]string{
		`{"versions": {"spec": {"current": "2.10"}}}`: "2.10",
		`{"versions": {"spec": {"current": 2.10}}}`:   "2.10",
		`{"versions": {"spec": {"current": null}}}`:   "2.0",
		`{"versions": {"spec": "1"}}`:                 "2.0",
		`{"versions": []}`:                            "2.0",
		`null`:                                        "2.0",
	} {
		if s := read(t, map[string]string{"spec.md": demo, "config.json": config}); s.Version != want {
			t.Errorf("%s: %q, want %q", config, s.Version, want)
		}
	}
}

func TestAProjectWithoutASpecHasNone(t *testing.T) {
	for _, root := range []string{folder(t, nil), filepath.Join(t.TempDir(), "absent")} {
		if s, err := spec.Read(root); err != nil || s.Found || len(s.Sections) > 0 {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

func TestAliasesOfLikeTitlesDiffer(t *testing.T) {
	s := spec.Parse([]byte("## Notes\n## Notes\n## Notes-2\n## Notes\n## X {#x}\n## X {#x}\n"))
	var got []string
	for _, section := range s.Sections {
		got = append(got, section.Alias)
	}
	if want := []string{"#notes", "#notes-2", "#notes-2-2", "#notes-3", "#x", "#x"}; !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestASectionIsFoundByAliasOrNumber(t *testing.T) {
	s := spec.Parse([]byte(demo))
	for _, name := range []string{"#core-flow", "core-flow", "2.2"} {
		if section, ok := s.Section(name); !ok || section.Title != "Core Flow" {
			t.Errorf("%s: %+v", name, section)
		}
	}
	for _, name := range []string{"", "#", "9.9", "#2.2"} {
		if section, ok := s.Section(name); ok {
			t.Errorf("%q: %+v", name, section)
		}
	}
}

func TestABuildComparesItselfWithTheVersionsOfSections(t *testing.T) {
	want := workflow.Spec{Version: "2.0", Sections: map[string]string{"#core-flow": "2.1", "#status-line": "1.9"}}
	if diff := cmp.Diff(want, spec.Parse([]byte(demo)).Workflow()); diff != "" {
		t.Error(diff)
	}
}

func TestHostileFilesAreRefusedWithoutBlocking(t *testing.T) {
	huge := folder(t, nil)
	if err := os.WriteFile(filepath.Join(huge, "spec.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(huge, "spec.md"), spec.MaxSize+1); err != nil {
		t.Fatal(err)
	}
	pipe := folder(t, nil)
	if err := syscall.Mkfifo(filepath.Join(pipe, "spec.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := folder(t, nil)
	if err := os.Mkdir(filepath.Join(dir, "spec.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{huge, pipe, dir, folder(t, map[string]string{"spec.md": "", "config.json": "{"})} {
		_, err := spec.Read(root)
		bad, ok := errors.AsType[interface {
			error
			Invalid() bool
		}](err)
		if !ok || !bad.Invalid() {
			t.Errorf("%s: %v", root, err)
		}
	}
}

func TestManySectionsAreBounded(t *testing.T) {
	s := spec.Parse([]byte(strings.Repeat("## a\n", 200_000)))
	if len(s.Sections) != 10_000 || s.Sections[9_999].Alias != "#a-10000" {
		t.Errorf("%d sections, last %+v", len(s.Sections), s.Sections[len(s.Sections)-1].Alias)
	}
}
