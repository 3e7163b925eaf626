package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// decode decodes a line that may be a JSON object. It skips members of an unexpected
// type. It reports false for incomplete JSON and for anything but an object.
func decode(line []byte, into any) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return false
	}
	err := json.Unmarshal(line, into)
	var wrong *json.UnmarshalTypeError
	return err == nil || errors.As(err, &wrong)
}

// encode returns value as a line of JSON. It cannot fail: values consist of strings,
// maps and JSON that was decoded before.
func encode(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	return b.Bytes()
}

// object is a JSON object to send.
type object map[string]any

// mainInput returns the most informative part of a tool's input.
func mainInput(input json.RawMessage) string {
	var known struct {
		Command     string           `json:"command"`
		FilePath    string           `json:"file_path"`
		Path        string           `json:"path"`
		FilePath2   string           `json:"filePath"`
		Pattern     string           `json:"pattern"`
		URL         string           `json:"url"`
		Query       string           `json:"query"`
		Description string           `json:"description"`
		Questions   []choiceQuestion `json:"questions"`
	}
	decode(input, &known)
	if len(known.Questions) > 0 {
		return known.Questions[0].Question
	}
	for _, text := range []string{known.Command, known.FilePath, known.FilePath2, known.Path, known.Pattern, known.URL, known.Query, known.Description} {
		if text != "" {
			return text
		}
	}
	return ""
}

// describeCall describes a tool call in a few words: "Bash: go test ./...".
func describeCall(tool string, input json.RawMessage) string {
	if what := mainInput(input); what != "" {
		tool += ": " + what
	}
	return shortLine(tool)
}

// describeWholeCall describes a tool call with all of its input, for a user who must decide about
// it. The most informative member comes first, the others follow as JSON.
func describeWholeCall(tool string, input json.RawMessage) string {
	members := map[string]json.RawMessage{}
	decode(input, &members)
	parts := []string{}
	if what := takeMainInput(members); what != "" {
		parts = append(parts, what)
		if tool == "Bash" {
			delete(members, "description") // only the agent's comment on the command
		}
	}
	if len(members) > 0 {
		parts = append(parts, strings.TrimSpace(string(encode(members))))
	}
	if len(parts) > 0 {
		tool += ": " + strings.Join(parts, " ")
	}
	return forDecision(tool)
}

// takeMainInput removes the most informative member and returns it. Unlike mainInput it
// matches names exactly and ignores descriptions.
func takeMainInput(members map[string]json.RawMessage) string {
	for _, name := range []string{"command", "file_path", "filePath", "path", "pattern", "url", "query"} {
		var text string
		if json.Unmarshal(members[name], &text) == nil && text != "" {
			delete(members, name)
			return text
		}
	}
	return ""
}
