package agent

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Turn is one message of the user in a conversation, and what the agent did until the next message.
type Turn struct {
	Text   string // the message; empty if the log does not have it
	Answer string // the agent's last text in the turn
	// Point is the id that the agent program gives to the end of this turn. If it is used as
	// [Fork.Point], the copied conversation ends with this turn. It is empty if the log has no such
	// id.
	Point string
}

// Copies says how much of a conversation an agent program can copy into a new conversation.
type Copies int

// Values of Copies.
const (
	CopiesNone  Copies = iota // nothing, or the program is unknown
	CopiesWhole               // only whole conversations
	CopiesParts               // the conversation from its start to the end of any turn that has a Point
)

// Turns returns the turns of the conversation in the log of one attempt. The second result says how
// much of the conversation can be copied by the program that wrote the log. If it is CopiesNone,
// the whole log counts as one turn.
func Turns(log []byte) (turns []Turn, can Copies) {
	var t Transcript
	r := turnReader{}
	answer := ""
	for line := range bytes.Lines(log) {
		line = bytes.TrimRight(line, "\r\n")
		before := len(r.turns)
		r.line(line)
		if len(r.turns) > before {
			answer = ""
		}
		entries, _ := t.Line(line[:min(len(line), MaxLine)])
		for _, e := range entries {
			if e.Kind == AgentText {
				answer = e.Text
			}
		}
		if n := len(r.turns); n > 0 && answer != "" {
			r.turns[n-1].Answer = answer
		}
	}
	for _, e := range t.End() {
		if e.Kind == AgentText {
			answer = e.Text
		}
	}
	if len(r.turns) == 0 && r.copies == CopiesNone && len(bytes.TrimSpace(log)) > 0 {
		r.turns = []Turn{{Answer: answer}}
	}
	return r.turns, r.copies
}

// turnReader finds the turns in a log. It detects the program that wrote the log by the first line
// that only this program writes.
type turnReader struct {
	turns  []Turn
	copies Copies
	server bool   // the log was written by Codex's app server
	thread string // id of the conversation; only set for Codex's app server
}

func (r *turnReader) line(line []byte) {
	var l struct {
		claudeLine
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
		Params struct {
			ThreadID string `json:"threadId"`
			Turn     struct {
				ID string `json:"id"`
			} `json:"turn"`
			Item serverItem `json:"item"`
		} `json:"params"`
		Result struct {
			Thread struct {
				ID string `json:"id"`
			} `json:"thread"`
		} `json:"result"`
	}
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' || !decode(line, &l) {
		return
	}
	switch {
	case l.Type == "turn.started" && !r.server: // codex exec
		r.copies = CopiesWhole
		r.turns = append(r.turns, Turn{})
	case l.Type == "user" && l.Replay && l.Time != "":
		r.copies = CopiesParts
		var text string
		_ = json.Unmarshal(l.Message.Content, &text) // on an error the text is empty
		r.turns = append(r.turns, Turn{Text: strings.TrimSpace(clean(text)), Point: l.UUID})
	case l.Type == "assistant" || l.Type == "user":
		if n := len(r.turns); n > 0 && r.copies == CopiesParts && l.UUID != "" && l.Parent == "" && !l.Replay {
			r.turns[n-1].Point = l.UUID
		}
	case l.Result.Thread.ID != "" && r.thread == "":
		r.server, r.thread, r.copies = true, l.Result.Thread.ID, CopiesParts
	case l.Method == "turn/started" && r.server && l.Params.ThreadID == r.thread:
		r.turns = append(r.turns, Turn{Point: l.Params.Turn.ID})
	case l.Method == "item/started" && r.server && l.Params.ThreadID == r.thread && l.Params.Item.Type == "userMessage":
		if n := len(r.turns); n > 0 && r.turns[n-1].Text == "" {
			r.turns[n-1].Text = strings.TrimSpace(clean(l.Params.Item.text()))
		}
	}
}
