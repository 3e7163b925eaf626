package hookevents

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"gaffer/statefile/jsontree"
)

func TestWrittenFilesOfAllAgentPrograms(t *testing.T) {
	for event, want := range map[string][]string{
		`{"tool_name": "Write", "tool_input": {"file_path": "a"}}`:                      {"a"},
		`{"tool_name": "MultiEdit", "tool_input": {"file_path": "a", "edits": [1]}}`:    {"a"},
		`{"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "a.ipynb"}}`:     {"a.ipynb"},
		`{"tool_name": "write_file", "tool_input": {"file_path": "a", "content": "b"}}`: {"a"},
		`{"tool_name": "replace", "tool_input": {"file_path": "a"}}`:                    {"a"},
		`{"tool_name": "edit", "tool_input": {"filePath": "a"}}`:                        {"a"},
		`{"tool_name": "apply_patch", "tool_input": {"command": "*** Begin Patch\n*** Update File: a b.go\n*** Move to: c.go\n-x\n+*** Add File: no\n*** Delete File: d\n*** End Patch"}}`: {"a b.go", "c.go", "d"},
		`{"tool_name": "apply_patch", "tool_input": {"command": ["apply_patch", "*** Add File: a\n+x"]}}`:                                                                                  {"a"},
		`{"tool_name": "apply_patch", "tool_input": "*** Add File: a"}`:                                                                                                                    {"a"},
		`{"tool_name": "Read", "tool_input": {"file_path": "a"}}`:                                                                                                                          nil,
		`{"tool_name": "Bash", "tool_input": {"command": "echo > a"}}`:                                                                                                                     nil,
		`{"tool_name": "Write", "tool_input": {"file_path": 7}}`:                                                                                                                           nil,
		`{"tool_name": "Write", "tool_input": "a"}`:                                                                                                                                        nil,
		`{"tool_name": ["Write"], "tool_input": {"file_path": "a"}}`:                                                                                                                       nil,
		`{"tool_name": "Write"}`: nil, `{}`: nil, `[]`: nil, `null`: nil, `7`: nil,
	} {
		doc, err := jsontree.Parse([]byte(event))
		if err != nil {
			t.Fatal(err)
		}
		if got := WrittenFiles(doc.Value()); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", event, got, want)
		}
	}
}

func FuzzReadEvent(f *testing.F) {
	for _, seed := range []string{`{"tool_name":"Write","tool_input":{"file_path":"a"}}`, `{"tool_name":"apply_patch","tool_input":["*** Add File: a"]}`, `[`, "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		event, err := ReadEvent(strings.NewReader(text))
		if err != nil {
			return
		}
		if n := len(WrittenFiles(event)); n > maxFiles {
			t.Errorf("%d files", n)
		}
	})
}

func TestAnEventEndsWithItsLastBracket(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": "}\\\"}"} {"b": 1}`:                  `}\"}`,
		"\n\t {\"a\": \"x\", \"b\": [{}, \"]\"]}\n": "x",
		`{"a": "x"}`: "x",
	} {
		for _, in := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			open := io.MultiReader(in, iotest.ErrReader(errors.New("read on")))
			v, err := ReadEvent(open)
			if err != nil || v.Get("a").Text() != want {
				t.Errorf("%s: %q, %v", text, v.Get("a").Text(), err)
			}
		}
	}
	for _, text := range []string{"garbage", " x", `"text"`, "}", `{"a": [1}`, `[}`} {
		v, err := ReadEvent(io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("read on"))))
		if err == nil || strings.Contains(err.Error(), "read on") {
			t.Errorf("%s: %s, %v", text, v.Raw(), err)
		}
	}
	for _, text := range []string{`{"a": "}`, `}`, `{]`, `x`, `{"a": ` + strings.Repeat(" ", 2*maxEvent) + `1}`} {
		if v, err := ReadEvent(strings.NewReader(text)); err == nil {
			t.Errorf("%.20s: %.20s", text, v.Raw())
		}
	}
	for _, text := range []string{"", " \n"} {
		if v, err := ReadEvent(strings.NewReader(text)); err != nil || v.Kind() != jsontree.Null && !v.Absent() {
			t.Errorf("%q: %v, %v", text, v.Kind(), err)
		}
	}
}
