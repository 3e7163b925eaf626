package hookevents

import (
	"bytes"
	"unicode"

	"gaffer/statefile/jsonview"
)

// Event is one thing that an agent program said by a hook. It may be anything:
// what is missing or of another form is empty.
type Event struct {
	Program    string
	Name       string // as the program calls it
	Session    string
	Agent      string // the subagent that it is about, or empty
	Dir        string
	Transcript string
	Model      string
	Kind       string // which of its name: the source of a start, the reason of an end, what a notice is about
	Tool       string
	Input      string // a fingerprint of what the tool was given
	Doing      string // that in a line, for a person
	Message    string
	Error      string
	Interrupt  bool // a person has interrupted it
	Working    int  // agents in the background that go on after a stop
	Questions  []Question
}

// Question is what an agent asks with options, in the words of its tool.
type Question struct {
	Text    string
	Options []string
	Many    bool // of which more than one may be chosen
}

// Read takes an event as a program gave it.
func Read(program string, v jsonview.Value) Event {
	e := Event{
		Program: program,
		Name:    v.Get("hook_event_name").Text(), Session: v.Get("session_id").Text(), Agent: v.Get("agent_id").Text(),
		Dir: v.Get("cwd").Text(), Transcript: v.Get("transcript_path").Text(), Model: v.Get("model").Text(),
		Kind: first(v, "source", "reason", "trigger", "notification_type"),
		Tool: v.Get("tool_name").Text(), Message: Line(v.Get("message").Text()), Error: Line(v.Get("error").Text()),
	}
	if e.Name == "" && v.Get("type").Kind() == jsonview.String { // Codex's notify has words of its own
		e.Name, e.Session = v.Get("type").Text(), v.Get("thread-id").Text()
	}
	e.Interrupt, _ = v.Get("is_interrupt").Bool()
	if e.Message == "" {
		e.Message = Line(v.Get("last_assistant_message").Text())
	}
	e.Working = working(v.Get("background_tasks"))
	if input := v.Get("tool_input"); e.Tool != "" {
		e.Input, e.Doing = fingerprint(input.Raw()), doing(input)
		e.Questions = questions(input.Get("questions"))
	}
	return e
}

func first(v jsonview.Value, names ...string) string {
	for _, name := range names {
		if text := v.Get(name).Text(); text != "" {
			return text
		}
	}
	return ""
}

// working counts the tasks in the background without commands: a server that an
// agent has started keeps nobody busy.
func working(tasks jsonview.Value) (n int) {
	for _, t := range tasks.Items() {
		if kind := t.Get("type").Text(); kind != "" && kind != "shell" && kind != "bash" && kind != "monitor" {
			n++
		}
	}
	return n
}

// doing is what a tool was given, in a line.
func doing(input jsonview.Value) string {
	for _, name := range []string{"command", "cmd", "file_path", "filePath", "notebook_path", "path", "url", "pattern", "query", "prompt", "description"} {
		switch v := input.Get(name); v.Kind() {
		case jsonview.String:
			return Line(v.Text())
		case jsonview.Array:
			return Line(words(v))
		}
	}
	for _, q := range input.Get("questions").Items() {
		return Line(q.Get("question").Text())
	}
	return ""
}

func words(v jsonview.Value) string {
	var text []byte
	for i, item := range v.Items() {
		if i > 0 {
			text = append(text, ' ')
		}
		if text = append(text, item.Text()...); len(text) > 4*maxLine {
			break // more is not shown
		}
	}
	return string(text)
}

const (
	maxLine      = 300 // bytes of a line for a person
	maxQuestions = 8
)

func questions(v jsonview.Value) (list []Question) {
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

// Line makes one printable line of what another program wrote.
func Line(text string) string {
	if len(text) > 4*maxLine {
		text = text[:4*maxLine]
	}
	line := bytes.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, []byte(text))
	line = bytes.Join(bytes.Fields(line), []byte{' '})
	if len(line) <= maxLine {
		return string(line)
	}
	return string(bytes.ToValidUTF8(line[:maxLine], nil)) + "…"
}
