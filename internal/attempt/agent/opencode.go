package agent

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"gaffer/internal/engine/failure"
)

// opencode is the adapter for "opencode run". That program never waits for the user. If the policy
// allows everything and no rule restricts the agent, the program grants its own requests for
// permission. Otherwise it denies them.
type opencode struct{ setup }

func (o opencode) Launch(r Request) (Launch, error) {
	argv := append(slices.Clone(o.argv), "run", "--format", "json")
	if r.allowsAll() {
		argv = append(argv, "--auto")
	}
	if r.Thread != "" && !r.Begin {
		argv = append(argv, "-s", r.Thread)
	}
	if r.Model != "" {
		argv = append(argv, "-m", r.Model)
	}
	l := Launch{Argv: argv, Env: o.env, Input: []byte(r.Prompt), Linger: linger}
	if o.prompt == Argument {
		l.Argv, l.Input = append(argv, "--", r.Prompt), nil
	}
	return l, nil
}

func (o opencode) Reader(Request) Reader { return &opencodeReader{} }

// opencodeReader interprets the output of "opencode run".
type opencodeReader struct {
	thread      string
	text        string
	usage       Usage
	final       *finalMessage
	denied      denial
	otherOutput lastOutput
}

type opencodeLine struct {
	Type      string  `json:"type"`
	Timestamp float64 `json:"timestamp"` // Unix time in milliseconds
	SessionID string  `json:"sessionID"`
	Part      struct {
		Text   string `json:"text"`
		Tool   string `json:"tool"`
		Reason string `json:"reason"`
		State  struct {
			Input json.RawMessage `json:"input"`
			Error string          `json:"error"`

			Output   string `json:"output"`
			Metadata struct {
				Exit int `json:"exit"`
			} `json:"metadata"`
		} `json:"state"`
		Tokens struct {
			Input  int64 `json:"input"`
			Output int64 `json:"output"`
			Cache  struct {
				Read  int64 `json:"read"`
				Write int64 `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
		Cost float64 `json:"cost"`
	} `json:"part"`
	Error struct {
		Name string `json:"name"`
		Data struct {
			Message string            `json:"message"`
			Status  int               `json:"statusCode"`
			Headers map[string]string `json:"responseHeaders"`
		} `json:"data"`
	} `json:"error"`
}

func (o *opencodeReader) Line(line []byte) []Signal {
	var l opencodeLine
	if !decode(line, &l) {
		o.stderrLine(line)
		return nil
	}
	s := o.read(l)
	if l.SessionID != "" && l.SessionID != o.thread {
		o.thread = l.SessionID
		s.Thread = o.thread
	}
	return []Signal{s}
}

func (o *opencodeReader) read(l opencodeLine) Signal {
	s := Signal{State: Running, Progress: true}
	switch l.Type {
	case "step_start":
		o.final = nil
	case "text":
		o.text = l.Part.Text
		s.Doing = shortLine(l.Part.Text)
	case "tool_use":
		s.Doing = describeCall(l.Part.Tool, l.Part.State.Input)
		if strings.Contains(l.Part.State.Error, "rejected permission") {
			o.deny(s.Doing)
		} else {
			o.denied.usedTool()
		}
	case "step_finish":
		s.Usage = o.add(l)
		t := l.Part.Tokens
		s.Context.Tokens = t.Input + t.Cache.Read + t.Cache.Write + t.Output
		s.Ended = o.finished(l.Part.Reason)
	case "error":
		o.final = l.finalMessage()
		s = Signal{Ended: true}
	default:
		return Signal{}
	}
	return s
}

// finished handles the end of a step and reports whether the step is the last one. After a
// tool call another step follows.
func (o *opencodeReader) finished(reason string) bool {
	switch reason {
	case "stop":
		o.final = &finalMessage{text: o.text}
	case "tool-calls", "unknown", "":
		return false
	default:
		o.final = &finalMessage{class: failure.Crashed, text: "the model stopped: " + reason}
	}
	return true
}

// add adds the usage of one step to the total. opencode reports the usage of each step separately.
func (o *opencodeReader) add(l opencodeLine) *Usage {
	t := l.Part.Tokens
	o.usage.Input += t.Input + t.Cache.Read + t.Cache.Write
	o.usage.Cached += t.Cache.Read
	o.usage.Output += t.Output
	o.usage.USD += l.Part.Cost
	used := o.usage
	return &used
}

// stderrLine handles a line that is not JSON, such as a line of stderr. If the line reports a
// denied request, stderrLine records the denial.
func (o *opencodeReader) stderrLine(line []byte) {
	o.otherOutput.add(line)
	text := clean(string(line[:min(len(line), 4000)]))
	if _, what, ok := strings.Cut(text, "permission requested: "); ok && strings.Contains(what, "auto-rejecting") {
		what, _, _ = strings.Cut(what, ";")
		o.deny(shortLine(what))
	}
}

// deny records a denied request. opencode reports each denial twice, on stderr and in the tool's
// result, in different words. So a report is ignored if it begins with the same word as the last
// recorded denial.
func (o *opencodeReader) deny(what string) {
	if list := o.denied.requests; len(list) == 0 || !strings.HasPrefix(what, strings.SplitN(list[len(list)-1], " ", 2)[0]) {
		o.denied.add(what)
	}
}

func (l opencodeLine) finalMessage() *finalMessage {
	d := l.Error.Data
	w := &finalMessage{class: classify(d.Status, d.Message), text: appendDetail(l.Error.Name, d.Message)}
	if l.Error.Name == "ContextOverflowError" {
		w.class = failure.ContextOverflow
	}
	if after, err := strconv.ParseFloat(d.Headers["retry-after"], 64); err == nil && l.Timestamp > 0 {
		w.reset = unixTime(l.Timestamp/1000 + after)
	}
	return w
}

func (o *opencodeReader) Verdict(exit Exit) Verdict {
	return judge(o.final, o.denied, o.otherOutput.String(), exit)
}
