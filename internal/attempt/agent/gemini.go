package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"gaffer/internal/engine/failure"
)

// gemini is the adapter for the Gemini CLI in its non-interactive mode. In this mode Gemini never
// asks the user: tools that need permission are not offered to the model.
type gemini struct{ setup }

func (g gemini) Launch(r Request) (Launch, error) {
	argv := append(slices.Clone(g.argv), "--output-format", "stream-json")
	argv = append(argv, g.approval(r)...)
	switch {
	case r.Thread != "" && r.Begin:
		argv = append(argv, "--session-id", r.Thread)
	case r.Thread != "":
		argv = append(argv, "--resume", r.Thread)
	}
	if r.Model != "" {
		argv = append(argv, "-m", r.Model)
	}
	// Without this variable Gemini refuses folders that the user has not opened before,
	// such as a new worktree.
	env := append([]string{"GEMINI_CLI_TRUST_WORKSPACE=true"}, g.env...)
	l := Launch{Argv: argv, Env: env, Input: []byte(r.Prompt), Linger: linger}
	if g.prompt == Argument {
		l.Argv, l.Input = append(argv, "--prompt="+r.Prompt), nil
	}
	return l, nil
}

// approval returns the arguments that choose which tools Gemini offers to the model. If the policy
// allows everything and no rule restricts the agent, Gemini offers all tools. Otherwise it offers
// only the tools that need no permission, and the editing tools, without which the agent could not
// change files. If the configured arguments already choose an approval mode, the result is nil.
func (g gemini) approval(r Request) []string {
	for _, a := range g.argv {
		if a == "-y" || a == "--yolo" || strings.HasPrefix(a, "--approval-mode") {
			return nil
		}
	}
	if r.allowsAll() {
		return []string{"--approval-mode", "yolo"}
	}
	return []string{"--approval-mode", "auto_edit"}
}

func (g gemini) Reader(Request) Reader { return &geminiReader{} }

// geminiReader interprets the output of the Gemini CLI.
type geminiReader struct {
	text        strings.Builder // the model's text since the last tool use
	final       *finalMessage
	otherOutput lastOutput
}

type geminiLine struct {
	Type       string          `json:"type"`
	SessionID  string          `json:"session_id"`
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	Tool       string          `json:"tool_name"`
	Parameters json.RawMessage `json:"parameters"`
	Status     string          `json:"status"`
	Output     string          `json:"output"`
	Message    string          `json:"message"`
	Error      struct {
		Message string `json:"message"`
	} `json:"error"`
	Stats struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Cached int64 `json:"cached"`
	} `json:"stats"`
}

func (g *geminiReader) Line(line []byte) []Signal {
	var l geminiLine
	if !decode(line, &l) {
		return g.stderrLine(line)
	}
	switch l.Type {
	case "init":
		return []Signal{{State: Running, Thread: l.SessionID}}
	case "message":
		return g.message(l)
	case "tool_use":
		g.text.Reset()
		return []Signal{{State: Running, Progress: true, Doing: describeCall(l.Tool, l.Parameters)}}
	case "tool_result":
		return []Signal{{State: Running, Progress: true}}
	case "result":
		g.final = l.finalMessage(g.text.String())
		return []Signal{{Usage: &Usage{Input: l.Stats.Input, Output: l.Stats.Output, Cached: l.Stats.Cached}, Ended: true}}
	}
	return nil
}

// message collects the model's text, which arrives in small pieces.
func (g *geminiReader) message(l geminiLine) []Signal {
	if l.Role != "assistant" {
		return nil
	}
	if g.text.Len() < MaxLine {
		g.text.WriteString(l.Content)
	}
	return []Signal{{State: Running, Progress: true, Doing: shortLine(g.text.String())}}
}

// stderrLine handles a line that is not JSON, such as a line of stderr. If the line reports a
// retry, stderrLine returns a signal for the retry.
func (g *geminiReader) stderrLine(line []byte) []Signal {
	g.otherOutput.add(line)
	if bytes.HasPrefix(line, []byte("Attempt ")) && bytes.Contains(line, []byte("Retrying")) {
		return []Signal{{State: Retrying, Doing: shortLine(string(line))}}
	}
	return nil
}

func (l geminiLine) finalMessage(text string) *finalMessage {
	switch {
	case l.Status == "success":
		return &finalMessage{text: text}
	case l.Error.Message == "":
		return &finalMessage{class: failure.Crashed, text: "the result is " + l.Status}
	}
	return &finalMessage{class: classify(0, l.Error.Message), text: l.Error.Message}
}

func (g *geminiReader) Verdict(exit Exit) Verdict {
	return judge(g.final, denial{}, g.otherOutput.String(), exit)
}
