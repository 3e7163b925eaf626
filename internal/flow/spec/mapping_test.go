package spec_test

import (
	"testing"

	"gaffer/internal/flow/spec"
)

func TestAFileBelongsToTheSectionOfTheMostLiteralGlob(t *testing.T) {
	root := folder(t, map[string]string{"spec.md": demo, "config.json": `{
  "sections": {
    "src/**": "1",
    "src/statusline/**": "#status-line",
    "#core-flow": ["src/viewer/**", "web/*.js", 7, ""],
    "2.12": ["bin/status"],
    "#problem-statement": "docs/why.md",
    "lib/[": "#core-flow",
    "odd/**": {"a": 1},
    "new/**": "not-written-yet",
    "nine/**": "9.9"
  }
}`})
	s, err := spec.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	m, err := spec.ReadMapping(root)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"src/main.go":                        "1 Vision and Principles",
		"src/statusline/fctry-statusline.js": "2.12 Status Line",
		"./src/viewer/deep/er.js":            "2.2 Core Flow",
		`src\viewer\server.js`:               "2.2 Core Flow",
		"web/app.js":                         "2.2 Core Flow",
		"web/deep/app.js":                    "",
		"bin/status":                         "2.12 Status Line",
		"docs/why.md":                        "1.1 Problem Statement",
		"lib/x":                              "",
		"odd/x":                              "",
		"new/x":                              "#not-written-yet",
		"nine/x":                             "9.9",
		"../src/main.go":                     "",
		"/src/main.go":                       "",
		".":                                  "",
		"":                                   "",
	} {
		section, ok := s.OfFile(file, m)
		if got := section.String(); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", file, got, ok, want)
		}
	}
}

func TestWithoutAMappingTheTextThatNamesTheFileDecides(t *testing.T) {
	s := spec.Parse([]byte("## Table of Contents\nsrc/api/x.go\n" +
		"## Layout\nEverything is in `src/`, tests in test/unit/.\n" +
		"## Api\nSee [the server](./src/api/server.go#L10), src/api/x.go:12 and https://example.com/src/web/a.js.\n" +
		"## Client\n`src/api/client/**` and viewer/main.js; the Makefile, server.js.\n"))
	for file, want := range map[string]string{
		"src/api/server.go":      "Api",
		"src/api/x.go":           "Api",
		"src/api/client/a/b.go":  "Client",
		"src/other.go":           "Layout",
		"src/web/a.js":           "Layout",
		"test/unit/a_test.go":    "Layout",
		"lib/viewer/main.js":     "Client",
		"Makefile":               "Client",
		"lib/server.js":          "",
		"srcs/x":                 "",
		"tools/Makefile":         "",
		"example.com/src/x":      "",
		"test/integration/a.txt": "",
	} {
		section, ok := s.OfFile(file, nil)
		if section.Title != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", file, section.Title, ok, want)
		}
	}
}

func TestAProjectWithoutAMappingHasNone(t *testing.T) {
	for _, config := range []string{`{}`, `null`, `[1]`, `{"sections": null}`, `{"sections": "x"}`, `{"sections": [1]}`} {
		if m, err := spec.ReadMapping(folder(t, map[string]string{"config.json": config})); err != nil || len(m) > 0 {
			t.Errorf("%s: %v, %v", config, m, err)
		}
	}
	if _, err := spec.ReadMapping(folder(t, map[string]string{"config.json": "{"})); err == nil {
		t.Error("a broken config.json was taken for none")
	}
}
