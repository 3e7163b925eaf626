package agent

import (
	"encoding/json"
	"strings"
)

// mainInput returns the most informative member of a tool's input, such as the command or the path.
// It returns "" if the input has none of the known members.
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

// describeWholeCall describes a tool call with all of its input, for the user who must
// allow or deny it. The most informative member comes first; the other members follow as
// JSON.
func describeWholeCall(tool string, input json.RawMessage) string {
	members := map[string]json.RawMessage{}
	decode(input, &members)
	parts := []string{}
	if what := takeMainInput(members); what != "" {
		parts = append(parts, what)
		if tool == "Bash" {
			delete(members, "description") // leave it out: it is only the agent's comment on the command
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

// takeMainInput returns the most informative member of a tool's JSON input, such as the command or
// the path, and removes it from the map. It returns "" if there is none. Unlike mainInput, it is
// case-sensitive and ignores the member "description".
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
