package hookevents

import (
	"bytes"
	"slices"
	"strings"

	"gaffer/statefile/jsonview"
)

// writers are the tools that write a file, in lower case. Of those that are not
// listed, such as Read, a path in the input says nothing.
var writers = []string{
	"write", "edit", "multiedit", "notebookedit", // Claude Code, opencode
	"write_file", "replace", "edit_file", "create_file", // Gemini CLI and its kin
	"apply_patch", "patch", // Codex
}

// pathFields are the names under which a tool's input has the path.
var pathFields = []string{"file_path", "filePath", "notebook_path", "path", "absolute_path"}

// maxFiles is how many files of one event are looked at.
const maxFiles = 100

// Written lists the files that a tool has written, as the event names them.
func Written(event jsonview.Value) []string {
	tool := string(bytes.ToLower([]byte(event.Get("tool_name").Text())))
	if !slices.Contains(writers, tool) {
		return nil
	}
	input := event.Get("tool_input")
	var files []string
	for _, name := range pathFields {
		if file := input.Get(name).Text(); file != "" {
			files = append(files, file)
			break
		}
	}
	if strings.HasSuffix(tool, "patch") {
		files = append(files, patched(input)...)
	}
	return files[:min(len(files), maxFiles)]
}

// patched lists the files of a patch, which is somewhere in the input: the whole
// of it, a member, or a word of a command.
func patched(input jsonview.Value) []string {
	var files []string
	switch input.Kind() {
	case jsonview.String:
		for line := range bytes.Lines([]byte(input.Text())) {
			for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
				if file, ok := bytes.CutPrefix(line, []byte(mark)); ok {
					files = append(files, string(bytes.TrimSpace(file)))
				}
			}
		}
	case jsonview.Array:
		for _, v := range input.Items() {
			files = append(files, patched(v)...)
		}
	case jsonview.Object:
		for _, v := range input.Members() {
			files = append(files, patched(v)...)
		}
	}
	return files
}
