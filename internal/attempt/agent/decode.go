package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// decode reads a line that may be a JSON object. Members of another type than
// expected are left out; what is torn or no object at all is no JSON to us.
func decode(line []byte, into any) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return false
	}
	err := json.Unmarshal(line, into)
	var wrong *json.UnmarshalTypeError
	return err == nil || errors.As(err, &wrong)
}

// encode is a line of JSON. What we send consists of strings, maps and JSON that
// was decoded before, so that there is nothing to fail.
func encode(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	return b.Bytes()
}

// object is what we send.
type object map[string]any

// arg is the part of a tool's input that tells a person most.
func arg(input json.RawMessage) string {
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

// call is a tool and its input in a few words: "Bash: go test ./...".
func call(tool string, input json.RawMessage) string {
	if what := arg(input); what != "" {
		tool += ": " + what
	}
	return brief(tool)
}

// whole is a tool and all of its input for somebody who must decide about it:
// what tells most in words, the rest as it is.
func whole(tool string, input json.RawMessage) string {
	members := map[string]json.RawMessage{}
	decode(input, &members)
	parts := []string{}
	if what := takeArg(members); what != "" {
		parts = append(parts, what)
		if tool == "Bash" {
			delete(members, "description") // the agent's own words about the command
		}
	}
	if len(members) > 0 {
		parts = append(parts, strings.TrimSpace(string(encode(members))))
	}
	if len(parts) > 0 {
		tool += ": " + strings.Join(parts, " ")
	}
	return full(tool)
}

// takeArg is arg by the exact names that the tools go by, and without what is
// only talk. What it returns is no member any more.
func takeArg(members map[string]json.RawMessage) string {
	for _, name := range []string{"command", "file_path", "filePath", "path", "pattern", "url", "query"} {
		var text string
		if json.Unmarshal(members[name], &text) == nil && text != "" {
			delete(members, name)
			return text
		}
	}
	return ""
}
