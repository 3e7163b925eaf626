package statusline

import (
	"slices"
	"testing"
)

func TestTheAgentsFolderIsItsWorkspaceOrElseItsWorkingFolder(t *testing.T) {
	for text, want := range map[string][]string{
		`{"workspace": {"current_dir": "/a"}, "cwd": "/b"}`: {"/a", "/b"},
		`{"workspace": {"current_dir": "/a/../c/"}}`:        {"/c"},
		`{"cwd": "/b"}`:                                        {"/b"},
		`{"workspace": "/a", "cwd": "/b"}`:                     {"/b"},
		`{"workspace": {"current_dir": "here"}, "cwd": "/b"}`:  {"/b"},
		`{"workspace": {"current_dir": ["/a"]}, "cwd": false}`: nil,
		`{"cwd": "/b"`:                                         nil,
		``:                                                     nil,
	} {
		if got := ReadAgent([]byte(text)).Dirs; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
