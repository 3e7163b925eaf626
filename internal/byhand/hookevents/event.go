package hookevents

import (
	"strings"
	"unicode"

	"gaffer/internal/text/truncate"
	"gaffer/statefile/jsontree"
)

// Event is one event that an agent program has reported to a hook. Values that are
// missing or of the wrong type are empty.
type Event struct {
	Program    string
	Name       string // the program's name for the event
	Session    string
	Agent      string // id of the subagent that the event is about; empty for the main agent
	Dir        string
	Transcript string
	Model      string
	// Kind depends on Name: it is the source of a session start, the reason of a session end, the
	// trigger of a compaction, or the type of a notification.
	Kind      string
	Tool      string
	Input     string // hash of the tool's input, to detect repeated calls
	Doing     string // summary of the tool's input on one line, for the user
	Message   string
	Error     string
	Interrupt bool // the user has interrupted the agent
	Working   int  // number of background agents that continue to work after the agent has stopped
	Questions []Question
}

// Question is a question with options that an agent asks with its question tool.
type Question struct {
	Text    string
	Options []string
	Many    bool // the user may choose more than one option
}

// ParseEvent returns the event that a program has sent as JSON.
func ParseEvent(program string, v jsontree.Value) Event {
	e := Event{
		Program: program,
		Name:    v.Get("hook_event_name").Text(), Session: v.Get("session_id").Text(), Agent: v.Get("agent_id").Text(),
		Dir: v.Get("cwd").Text(), Transcript: v.Get("transcript_path").Text(), Model: v.Get("model").Text(),
		Kind: firstString(v, "source", "reason", "trigger", "notification_type"),
		Tool: v.Get("tool_name").Text(), Message: OneLine(v.Get("message").Text()), Error: OneLine(v.Get("error").Text()),
	}
	// Codex calls its notify program with an event whose members have other names.
	if e.Name == "" && v.Get("type").Kind() == jsontree.String {
		e.Name, e.Session = v.Get("type").Text(), v.Get("thread-id").Text()
	}
	e.Interrupt, _ = v.Get("is_interrupt").Bool()
	if e.Message == "" {
		e.Message = OneLine(v.Get("last_assistant_message").Text())
	}
	e.Working = countWorking(v.Get("background_tasks"))
	if input := v.Get("tool_input"); e.Tool != "" {
		e.Input, e.Doing = fingerprint(input.Raw()), summarizeInput(input)
		e.Questions = questions(input.Get("questions"))
	}
	return e
}

func firstString(v jsontree.Value, names ...string) string {
	for _, name := range names {
		if text := v.Get(name).Text(); text != "" {
			return text
		}
	}
	return ""
}

// countWorking returns the number of an agent's background tasks except shell commands and
// monitors. A shell command, such as a server that the agent has started, does not mean that the
// agent is working.
func countWorking(tasks jsontree.Value) (n int) {
	for _, t := range tasks.Items() {
		if kind := t.Get("type").Text(); kind != "" && kind != "shell" && kind != "bash" && kind != "monitor" {
			n++
		}
	}
	return n
}

// summarizeInput returns the most informative part of a tool's input on one line.
func summarizeInput(input jsontree.Value) string {
	for _, name := range []string{"command", "cmd", "file_path", "filePath", "notebook_path", "path", "url", "pattern", "query", "prompt", "description"} {
		switch v := input.Get(name); v.Kind() {
		case jsontree.String:
			return OneLine(v.Text())
		case jsontree.Array:
			return OneLine(textOf(v))
		}
	}
	for _, q := range input.Get("questions").Items() {
		return OneLine(q.Get("question").Text())
	}
	return ""
}

func textOf(v jsontree.Value) string {
	var text []byte
	for i, item := range v.Items() {
		if i > 0 {
			text = append(text, ' ')
		}
		if text = append(text, item.Text()...); len(text) > 4*maxLine {
			break // the text is long enough, so the remaining items of the array are left out
		}
	}
	return string(text)
}

const (
	maxLine      = 300 // maximum length of a line for the user, in bytes
	maxQuestions = 8
)

func questions(v jsontree.Value) (list []Question) {
	for _, q := range v.Items() {
		one := Question{Text: q.Get("question").Text()}
		one.Many, _ = q.Get("multiSelect").Bool()
		for _, option := range q.Get("options").Items() {
			if label := option.Get("label").Text(); label != "" && len(one.Options) < 2*maxQuestions {
				one.Options = append(one.Options, label)
			}
		}
		if list = append(list, one); len(list) == maxQuestions {
			break
		}
	}
	return list
}

// OneLine returns a text from another program as one line without control characters. It shortens
// the line to at most maxLine bytes.
func OneLine(text string) string {
	if len(text) > 4*maxLine {
		text = text[:4*maxLine]
	}
	line := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	return truncate.Bytes(strings.Join(strings.Fields(line), " "), maxLine)
}
