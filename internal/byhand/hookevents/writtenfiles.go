package hookevents

import (
	"bytes"
	"slices"
	"strings"

	"gaffer/statefile/jsontree"
)

// writingTools lists the names of tools that write a file, in lower case. A path in the input of
// any other tool, such as Read, is not a file that the tool has written.
var writingTools = []string{
	"write", "edit", "multiedit", "notebookedit", // tools of Claude Code and opencode
	"write_file", "replace", "edit_file", "create_file", // tools of Gemini CLI and similar programs
	"apply_patch", "patch", // tools of Codex
}

// pathFields lists the members of a tool's input that may contain the path of the written file.
var pathFields = []string{"file_path", "filePath", "notebook_path", "path", "absolute_path"}

// maxFiles is the maximum number of files that WrittenFiles returns.
const maxFiles = 100

// WrittenFiles returns the paths of the files that a tool has written. The paths are exactly as in
// the event, so they may be relative.
func WrittenFiles(event jsontree.Value) []string {
	tool := string(bytes.ToLower([]byte(event.Get("tool_name").Text())))
	if !slices.Contains(writingTools, tool) {
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
		files = append(files, patchedFiles(input)...)
	}
	return files[:min(len(files), maxFiles)]
}

// patchedFiles returns the paths of the files that a patch changes. The patch may be the whole
// input, a member of the input, or an argument of a command in the input.
func patchedFiles(input jsontree.Value) []string {
	var files []string
	switch input.Kind() {
	case jsontree.String:
		for line := range bytes.Lines([]byte(input.Text())) {
			for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
				if file, ok := bytes.CutPrefix(line, []byte(mark)); ok {
					files = append(files, string(bytes.TrimSpace(file)))
				}
			}
		}
	case jsontree.Array:
		for _, v := range input.Items() {
			files = append(files, patchedFiles(v)...)
		}
	case jsontree.Object:
		for _, v := range input.Members() {
			files = append(files, patchedFiles(v)...)
		}
	}
	return files
}
