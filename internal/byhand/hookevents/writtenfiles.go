package hookevents

import (
	"bytes"
	"slices"
	"strings"

	"gaffer/statefile/jsontree"
)

// writingTools lists the tools that write a file, in lower case. For other tools, such
// as Read, a path in the input does not mean that the file was written.
var writingTools = []string{
	"write", "edit", "multiedit", "notebookedit", // Claude Code, opencode
	"write_file", "replace", "edit_file", "create_file", // Gemini CLI and similar programs
	"apply_patch", "patch", // Codex
}

// pathFields lists the names of the member that holds the path in a tool's input.
var pathFields = []string{"file_path", "filePath", "notebook_path", "path", "absolute_path"}

// maxFiles is the maximum number of files per event.
const maxFiles = 100

// WrittenFiles returns the files that a tool has written, as the event names them.
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

// patchedFiles returns the files of a patch. The patch may be the whole input, a member,
// or an argument of a command.
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
