package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gaffer/internal/text/truncate"
)

// Entry is one message or action in an agent's log, for a user who reads the log. The field Text
// has no control characters except newlines and tabs.
type Entry struct {
	Kind EntryKind
	Text string
	At   time.Time // when it happened; zero if unknown
}

// EntryKind is the kind of an Entry.
type EntryKind int

// Values of EntryKind.
const (
	AgentText     EntryKind = iota + 1 // the agent's own text, any number of lines
	ToolCall                           // a tool and the most informative part of its input, on one line
	ToolOutput                         // output of a tool, shortened
	Problem                            // an error, a failed tool or a denied request
	QuestionAsked                      // a question to the user, with its options
	Note                               // information about the program itself, such as its usage
	UserMessage                        // a message that the user sent while the agent worked
)

// Transcript converts the log of one attempt to a list of [Entry] values. It detects which agent
// program wrote the log.
type Transcript struct {
	read         func(t *Transcript, line []byte) []Entry // nil until the program is detected
	startedItems map[string]bool                          // ids of the actions of Codex whose start already has an entry
	server       *serverReader                            // remembers actions, to which questions of Codex's app server refer by id
	pendingText  strings.Builder                          // beginning of Gemini's current message, which arrives in small pieces
	pendingTime  time.Time
	// promptSeen says that the log has already repeated the prompt. In its log, Claude Code repeats
	// each message that it receives: first the prompt, and then the messages that the user has sent
	// later.
	promptSeen bool
	lastText   string // the agent's last text; a final message that only repeats it gets no entry

	// lastProblem is the text of the last entry if that entry is a Problem, else empty. If the next
	// error has the same text, it gets no entry.
	lastProblem string
}

// Line converts one line of the log, without its line end, to entries. If the line is not in the
// format of a known agent program, ok is false. The caller must then show the entries first, and
// after them the line, unchanged.
func (t *Transcript) Line(line []byte) (entries []Entry, ok bool) {
	trimmed := bytes.TrimSpace(line)
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return t.flush(), false
	}
	if t.read == nil {
		if t.read = detectFormat(trimmed); t.read == nil {
			return nil, false
		}
	}
	for _, e := range t.read(t, trimmed) {
		if e.Text == "" { // skip: for example a call of a tool without a name
			continue
		}
		// Leave out a repeated error: programs report it when it happens, and again when they give
		// up.
		if e.Kind != Problem || e.Text != t.lastProblem {
			entries = append(entries, e)
		}
		if t.lastProblem = ""; e.Kind == Problem {
			t.lastProblem = e.Text
		}
	}
	return entries, true
}

// End returns the entries that are left after the last line of the log: Line may have kept a
// message that did not seem to be complete.
func (t *Transcript) End() []Entry { return t.flush() }

// detectFormat detects which program wrote a line, by fields that other JSON lines are unlikely to
// have. It returns the method that reads the lines of that program, or nil if the program is
// unknown.
func detectFormat(line []byte) func(*Transcript, []byte) []Entry {
	var l struct {
		Type    string          `json:"type"`
		Session string          `json:"session_id"`
		Thread  string          `json:"thread_id"`
		Other   string          `json:"sessionID"` // set in the lines of opencode
		Message json.RawMessage `json:"message"`
		Part    json.RawMessage `json:"part"`
		Item    json.RawMessage `json:"item"`
		Role    string          `json:"role"`
		Request json.RawMessage `json:"request"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
	}
	if !decode(line, &l) {
		return nil
	}
	switch {
	case l.Type == "init" && l.Session != "", l.Type == "message" && l.Role != "":
		return (*Transcript).gemini
	case l.Type != "" && l.Other != "":
		return (*Transcript).opencode
	case l.Type == "thread.started" && l.Thread != "", l.Type == "turn.started", strings.HasPrefix(l.Type, "item.") && l.Item != nil:
		return (*Transcript).codex
	case l.Type != "" && l.Session != "", (l.Type == "assistant" || l.Type == "user") && l.Message != nil, l.Type == "control_request" && l.Request != nil:
		return (*Transcript).claude
	case l.Type == "" && l.Method != "" && l.Params != nil, l.Type == "" && l.ID != nil && l.Result != nil:
		return (*Transcript).codexServer
	}
	return nil
}

// Lengths to which entries are cut.
const (
	maxEntry    = 200 // maximum length of one line of a tool's input or output, in characters
	resultLines = 3
)

// oneLine returns text on one line, shortened to maxEntry.
func oneLine(text string) string {
	return truncate.Chars(strings.Join(strings.Fields(clean(firstChars(text, 20*maxEntry))), " "), maxEntry)
}

// agentText returns an entry for the agent's text, and stores the text in lastText. Empty text has
// no entry.
func (t *Transcript) agentText(text string, at time.Time) []Entry {
	text = strings.TrimSpace(clean(text))
	if text == "" {
		return nil
	}
	t.lastText = text
	return []Entry{{AgentText, text, at}}
}

// toolCall returns an entry for a tool call.
func toolCall(tool string, input json.RawMessage, at time.Time) Entry {
	if what := mainInput(input); what != "" {
		tool += ": " + what
	}
	return Entry{ToolCall, oneLine(tool), at}
}

// toolOutput returns an entry for a tool's output. The entry has the first lines of the output, or
// the last lines if the tool failed, and the number of omitted lines. If the output is empty, there
// is an entry only if the tool failed.
func toolOutput(output string, failed bool, at time.Time) []Entry {
	var lines []string
	for line := range strings.Lines(clean(output)) {
		if line = strings.TrimRight(line, " \t\n"); line != "" {
			lines = append(lines, truncate.Chars(line, maxEntry))
		}
	}
	kind, more := ToolOutput, len(lines)-resultLines
	if failed {
		kind = Problem
	}
	switch {
	case more == 1:
		// If only one line would be omitted, show all lines: a note about the omission would take
		// as much room as that line.
	case more > 1 && failed:
		lines = append([]string{fmt.Sprintf("… %d lines before", more)}, lines[more:]...)
	case more > 1:
		lines = append(lines[:resultLines:resultLines], fmt.Sprintf("… %d more lines", more))
	}
	if len(lines) == 0 {
		if !failed {
			return nil
		}
		lines = []string{"failed"}
	}
	return []Entry{{kind, strings.Join(lines, "\n"), at}}
}

// problem returns an entry for an error, or none if the error has no text.
func problem(text string, at time.Time) []Entry {
	if text = strings.TrimSpace(clean(text)); text == "" {
		return nil
	}
	return []Entry{{Problem, text, at}}
}

func note(text string, at time.Time) []Entry {
	if text == "" {
		return nil
	}
	return []Entry{{Note, oneLine(text), at}}
}

// questionAsked returns an entry for a question with its options.
func questionAsked(q Question, at time.Time) Entry {
	text := cmp.Or(strings.TrimSpace(clean(q.Text)), "(a question without a text)")
	for i, option := range q.Options {
		text += fmt.Sprintf("\n%d %s", i+1, oneLine(option))
	}
	return Entry{QuestionAsked, text, at}
}

// describe describes the usage, for example "240 tokens in, 14 out, $0.0200". It returns "" if no
// tokens were used.
func (u Usage) describe() string {
	if u.Input+u.Output == 0 {
		return ""
	}
	text := fmt.Sprintf("%d tokens in, %d out", u.Input, u.Output)
	if u.USD > 0 {
		text += fmt.Sprintf(", $%.4f", u.USD)
	}
	return text
}

// timeOf returns the timestamp of a line of the log, or zero if the line has none.
func timeOf(line []byte) time.Time {
	var l struct {
		Text string `json:"timestamp"`
	}
	if decode(line, &l); l.Text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, l.Text)
	if err != nil {
		return time.Time{}
	}
	return at
}

func (t *Transcript) claude(line []byte) (entries []Entry) {
	var l claudeLine
	decode(line, &l)
	at := timeOf(line)
	switch l.Type {
	case "system":
		for _, s := range (&claudeReader{}).system(l) {
			if s.State == Retrying {
				entries = append(entries, problem(s.Doing, at)...)
			}
			entries = append(entries, note(s.Compacted, at)...)
		}
	case "assistant":
		for _, b := range l.blocks() {
			switch {
			case b.Type == "tool_use" && b.Name != "AskUserQuestion":
				// A call of the tool AskUserQuestion gets no entry here: a later line of the log, a
				// control request, has the same question, and that line gets an entry.
				entries = append(entries, toolCall(b.Name, b.Input, at))
			case b.Type == "text" && l.Error != "":
				t.lastText = strings.TrimSpace(clean(b.Text))
				entries = append(entries, problem(b.Text, at)...)
			case b.Type == "text":
				entries = append(entries, t.agentText(b.Text, at)...)
			}
		}
	case "user":
		if l.Replay && l.Time != "" {
			var text string
			_ = json.Unmarshal(l.Message.Content, &text) // on an error the text is empty, and nothing is shown
			if t.promptSeen {
				// Leave the time of the entry empty: the line has the time when the user sent the
				// message, not the time when the agent received it.
				entries = append(entries, Entry{UserMessage, strings.TrimSpace(clean(text)), time.Time{}})
			}
			t.promptSeen = true
		}
		for _, b := range l.blocks() {
			if b.Type == "tool_result" {
				entries = append(entries, toolOutput(b.output(), b.IsError, at)...)
			}
		}
	case "control_request":
		if l.Request.Subtype == "can_use_tool" {
			entries = append(entries, questionAsked(l.question(Request{}), at))
		}
	case "rate_limit_event":
		if reset := unixTime(l.Limit.ResetsAt); l.Limit.Status == "rejected" && !reset.IsZero() {
			entries = problem("rate limit until "+reset.UTC().Format(time.RFC3339), at)
		}
	case "result":
		var r claudeResult
		decode(line, &r)
		entries = t.finished(r.text(), string(r.IsError) != "false", r.usage(), at)
		for _, d := range r.Denials {
			entries = append(entries, problem("denied: "+describeCall(d.Tool, d.Input), at)...)
		}
	}
	if l.Parent != "" {
		for i := range entries {
			entries[i].Text = "sub-agent: " + entries[i].Text
		}
	}
	return entries
}

// finished returns the entries for the end of the agent's work: the final message, unless it
// repeats the agent's last text, and the usage.
func (t *Transcript) finished(words string, failed bool, u *Usage, at time.Time) (entries []Entry) {
	if text := strings.TrimSpace(clean(words)); text != "" && text != t.lastText {
		entries = append(entries, Entry{map[bool]EntryKind{false: AgentText, true: Problem}[failed], text, at})
	}
	if u != nil {
		entries = append(entries, note(u.describe(), at)...)
	}
	return entries
}

// output returns a tool's output as text. In the log it is a string or a list of parts.
func (b claudeBlock) output() string {
	var text string
	if json.Unmarshal(b.Content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(b.Content, &parts) // on an error, keep what could be decoded
	for _, p := range parts {
		text += p.Text + "\n"
	}
	return text
}

func (t *Transcript) codex(line []byte) []Entry {
	var l codexLine
	decode(line, &l)
	at := timeOf(line)
	switch l.Type {
	case "item.started", "item.completed":
		return t.item(l.Item, l.Type == "item.completed", at)
	case "error":
		return problem(l.Message, at)
	case "turn.failed":
		return problem(l.Error.Message, at)
	case "turn.completed":
		return note(Usage{Input: l.Usage.Input, Output: l.Usage.Output}.describe(), at)
	}
	return nil
}

// item returns the entries for an action or a message of Codex. An action has one entry when it
// starts, and one with its output when it is complete. Codex reports some actions only when they
// are complete; for these, item returns both entries at once. A message has one entry, when it is
// complete.
func (t *Transcript) item(i codexItem, complete bool, at time.Time) (entries []Entry) {
	switch i.Type {
	case "userMessage", "reasoning":
		return nil
	case "error":
		return note(i.Message, at)
	case "agent_message", "agentMessage":
		if !complete {
			return nil
		}
		return t.agentText(i.Text, at)
	}
	if what := i.describe(); what != "" && !t.startedItems[i.ID] {
		if t.startedItems == nil || len(t.startedItems) > 1000 {
			// Forget all ids, to limit the memory. An action that is running now may get a second
			// entry.
			t.startedItems = map[string]bool{}
		}
		t.startedItems[i.ID] = true
		entries = append(entries, Entry{ToolCall, oneLine(what), at})
	}
	if !complete {
		return entries
	}
	switch {
	case i.Status == "declined":
		return append(entries, problem("declined", at)...)
	case i.exit() != 0 || i.Status == "failed":
		return append(entries, toolOutput(fmt.Sprintf("%s\nexit code %d", i.output(), i.exit()), true, at)...)
	}
	return append(entries, toolOutput(i.output(), false, at)...)
}

func (i codexItem) output() string { return i.Output + i.ServerOutput }

func (i codexItem) exit() int {
	for _, code := range []*int{i.Exit, i.ServerExit} {
		if code != nil {
			return *code
		}
	}
	return 0
}

func (t *Transcript) codexServer(line []byte) []Entry {
	var l serverLine
	decode(line, &l)
	var p serverParams
	decode(l.Params, &p)
	if t.server == nil {
		t.server = newServerReader(Request{})
	}
	for _, s := range t.server.Line(line) {
		if s.Ask != nil {
			return []Entry{questionAsked(*s.Ask, time.Time{})}
		}
	}
	at := unixTime(float64(p.Turn.CompletedAt))
	foreign := p.ThreadID != "" && p.ThreadID != t.server.thread
	switch {
	case l.Method == "" && l.Error != nil:
		return problem(l.Error.Message, at)
	case foreign:
		return nil
	case l.Method == "item/started", l.Method == "item/completed":
		i := p.Item.codexItem
		i.ID = p.Item.ID
		if i.Type == "userMessage" && p.Item.ClientID != "" && l.Method == "item/completed" {
			return []Entry{{UserMessage, strings.TrimSpace(clean(p.Item.text())), at}}
		}
		return t.item(i, l.Method == "item/completed", at)
	case l.Method == "error":
		return problem(appendDetail(p.Error.Message, p.Error.Details), at)
	case l.Method == "turn/completed" && p.Turn.Error != nil:
		return problem(p.Turn.Error.Message, at)
	case l.Method == "turn/completed":
		return note("the turn is "+p.Turn.Status, at)
	}
	return nil
}

func (t *Transcript) gemini(line []byte) (entries []Entry) {
	var l geminiLine
	decode(line, &l)
	at := timeOf(line)
	if l.Type == "message" && l.Role == "assistant" {
		if t.pendingText.Len() == 0 {
			t.pendingTime = at
		}
		if t.pendingText.Len() < MaxLine {
			t.pendingText.WriteString(l.Content)
		}
		return nil
	}
	entries = t.flush()
	switch l.Type {
	case "tool_use":
		entries = append(entries, toolCall(l.Tool, l.Parameters, at))
	case "tool_result":
		failed := l.Status != "success"
		entries = append(entries, toolOutput(l.Output+"\n"+l.Error.Message, failed, at)...)
	case "error":
		entries = append(entries, problem(l.Message, at)...)
	case "result":
		if w := l.finalMessage(""); l.Status != "success" {
			entries = append(entries, problem(w.text, at)...)
		}
		entries = append(entries, note(Usage{Input: l.Stats.Input, Output: l.Stats.Output}.describe(), at)...)
	}
	return entries
}

// flush returns an entry for Gemini's text that was collected so far, and clears that text.
func (t *Transcript) flush() []Entry {
	text := t.pendingText.String()
	t.pendingText.Reset()
	return t.agentText(text, t.pendingTime)
}

func (t *Transcript) opencode(line []byte) []Entry {
	var l opencodeLine
	decode(line, &l)
	at := unixTime(l.Timestamp / 1000)
	switch l.Type {
	case "text":
		return t.agentText(l.Part.Text, at)
	case "tool_use":
		entries := []Entry{toolCall(l.Part.Tool, l.Part.State.Input, at)}
		if l.Part.State.Error != "" {
			return append(entries, toolOutput(l.Part.State.Error, true, at)...)
		}
		return append(entries, toolOutput(l.Part.State.Output, l.Part.State.Metadata.Exit != 0, at)...)
	case "error":
		return problem(l.finalMessage().text, at)
	}
	return nil
}
