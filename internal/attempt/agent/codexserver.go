package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"gaffer/internal/engine/failure"
)

// Ids of the requests that gaffer sends to Codex's app server to start the first turn.
const (
	initializeID = 1
	threadID     = 2
	turnID       = 3
)

// turnReply is the [Signal.ReplyTo] of the request that starts the first turn.
const turnReply = "turn/start"

// server returns how to start the app server. This does not start the first turn: gaffer starts it
// when the server has reported the id of the thread, which is Codex's word for a conversation.
func (c codex) server(r Request) Launch {
	thread := object{"id": threadID, "method": "thread/start", "params": object{}}
	switch {
	case r.Fork != nil:
		// Set cwd: without it, the agent works in the folder in which the copied conversation took
		// place.
		params := object{"threadId": r.Fork.Thread, "cwd": r.Fork.Dir, "excludeTurns": true}
		if r.Fork.Point != "" {
			params["lastTurnId"] = r.Fork.Point
		}
		thread = object{"id": threadID, "method": "thread/fork", "params": params}
	case r.Thread != "" && !r.Begin:
		thread = object{"id": threadID, "method": "thread/resume", "params": object{"threadId": r.Thread, "excludeTurns": true}}
	}
	if r.Model != "" {
		thread["params"].(object)["model"] = r.Model
	}
	input := slices.Concat(
		encode(object{"id": initializeID, "method": "initialize", "params": object{"clientInfo": object{"name": "gaffer", "version": "1"}}}),
		encode(object{"method": "initialized"}),
		encode(thread))
	argv := append(slices.Clone(c.argv), "--disable", "plugins")
	argv = append(argv, c.sandbox(r)...)
	if !r.asks() {
		argv = append(argv, "-c", `approval_policy="never"`)
	}
	return Launch{Argv: append(argv, "app-server"), Env: c.env, Input: input, Open: true, Linger: linger}
}

// serverReader interprets the output of the app server. The prompt starts the first turn. Each
// message of the user that arrives after the end of a turn starts another turn.
type serverReader struct {
	request     Request
	thread      string
	turn        string
	before      *Usage // usage of the conversation before this attempt; nil until it is known
	items       map[string]codexItem
	text        string
	reset       time.Time
	final       *finalMessage
	interrupted bool // the server has accepted gaffer's request to end the turn
	denied      denial
	otherOutput lastOutput
}

func newServerReader(r Request) *serverReader {
	return &serverReader{request: r, items: map[string]codexItem{}}
}

type serverLine struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
		Turn struct {
			ID string `json:"id"`
		} `json:"turn"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (c *serverReader) Line(line []byte) []Signal {
	var l serverLine
	if !decode(line, &l) {
		c.otherOutput.add(line)
		return nil
	}
	if l.Method == "" {
		return c.response(l)
	}
	var p serverParams
	decode(l.Params, &p)
	// A foreign thread is a conversation that Codex starts for itself, for example to generate a
	// title.
	foreign := p.ThreadID != "" && p.ThreadID != c.thread
	switch {
	case len(l.ID) > 0 && foreign:
		return c.refuse(l, p)
	case len(l.ID) > 0:
		return c.asked(l, p)
	case foreign:
		return nil
	}
	return c.notified(l, p)
}

// response handles the server's answer to a request of gaffer.
func (c *serverReader) response(l serverLine) []Signal {
	var id int
	if json.Unmarshal(l.ID, &id) != nil {
		return c.steered(l)
	}
	switch {
	case l.Error != nil && id >= initializeID && id <= turnID:
		c.final = &finalMessage{class: classify(0, l.Error.Message), text: l.Error.Message}
		return []Signal{{Ended: true}}
	case id == threadID && c.thread == "" && l.Result.Thread.ID != "":
		c.thread = l.Result.Thread.ID
		begin := encode(object{"id": turnID, "method": "turn/start", "params": object{
			"threadId": c.thread, "input": []object{{"type": "text", "text": c.request.Prompt}},
		}})
		return []Signal{{State: Running, Thread: c.thread, Reply: begin, ReplyTo: turnReply}}
	case id == turnID && c.turn == "":
		c.turn = l.Result.Turn.ID
		c.otherOutput.forget() // the lines so far are only about Codex's setup
		return []Signal{{Closed: turnReply}}
	}
	return nil
}

type serverParams struct {
	ThreadID  string          `json:"threadId"`
	TurnID    string          `json:"turnId"`
	RequestID json.RawMessage `json:"requestId"`
	ItemID    string          `json:"itemId"`
	Item      serverItem      `json:"item"`
	Status    struct {
		Type  string   `json:"type"`
		Flags []string `json:"activeFlags"`
	} `json:"status"`
	Usage struct {
		Total, Last struct {
			Input  int64 `json:"inputTokens"`
			Cached int64 `json:"cachedInputTokens"`
			Output int64 `json:"outputTokens"`
		}
		Window int64 `json:"modelContextWindow"`
	} `json:"tokenUsage"`
	Error     serverError `json:"error"`
	WillRetry bool        `json:"willRetry"`
	Turn      struct {
		ID     string       `json:"id"`
		Status string       `json:"status"`
		Error  *serverError `json:"error"`

		CompletedAt int64 `json:"completedAt"`
	} `json:"turn"`
	Limits struct {
		Primary, Secondary struct {
			Used     float64 `json:"usedPercent"`
			ResetsAt float64 `json:"resetsAt"`
		}
	} `json:"rateLimits"`
	// The following fields are set only in requests of the server.
	Command     string           `json:"command"`
	Folder      string           `json:"cwd"`
	Reason      string           `json:"reason"`
	Message     string           `json:"message"`
	Questions   []choiceQuestion `json:"questions"`
	Permissions json.RawMessage  `json:"permissions"`
}

// serverItem is one item of a thread, such as a message or a command, as the server sends it.
type serverItem struct {
	codexItem
	ID       string `json:"id"`
	ClientID string `json:"clientId"` // [MessageKey] of a message that the user sent through gaffer
	Content  []struct {
		Text string `json:"text"`
	} `json:"content"`
}

// text returns the text of a user's message.
func (i serverItem) text() string {
	var parts []string
	for _, c := range i.Content {
		parts = append(parts, c.Text)
	}
	return strings.Join(parts, "\n")
}

type serverError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"`
	Details string          `json:"additionalDetails"`
}

func (c *serverReader) notified(l serverLine, p serverParams) []Signal {
	switch l.Method {
	case "thread/status/changed":
		return status(p)
	case "turn/started":
		return c.began(p)
	case "item/started", "item/completed":
		return c.item(p)
	case "error":
		if p.WillRetry {
			return []Signal{{State: Retrying, Doing: shortLine(appendDetail(p.Error.Message, p.Error.Details))}}
		}
	case "serverRequest/resolved":
		return []Signal{{Closed: string(p.RequestID)}}
	case "thread/tokenUsage/updated":
		return c.tokens(p)
	case "account/rateLimits/updated":
		c.limits(p)
	case "turn/completed":
		return c.completed(p)
	}
	return nil
}

func status(p serverParams) []Signal {
	switch {
	case p.Status.Type == "active" && len(p.Status.Flags) > 0:
		return []Signal{{State: Waiting}}
	case p.Status.Type == "active":
		return []Signal{{State: Running}}
	}
	return nil
}

func (c *serverReader) item(p serverParams) []Signal {
	i := p.Item.codexItem
	if i.Type == "userMessage" {
		if p.Item.ClientID == "" {
			return nil // the item only repeats the prompt
		}
		return []Signal{{Delivered: p.Item.ClientID}}
	}
	if i.Type == "agentMessage" && i.Text != "" {
		c.text = i.Text
	}
	c.denied.item(i)
	if i.Status == "inProgress" {
		c.items[p.Item.ID] = i
	} else {
		delete(c.items, p.Item.ID)
	}
	return []Signal{{Progress: true, Doing: i.doing()}}
}

// tokens handles a usage update of the server and returns the usage of this attempt. An update has
// the total usage of the whole conversation, so the usage before this attempt must be subtracted.
// If the attempt resumes a conversation, the server first sends an update for a turn that this
// attempt did not start. This update contains the usage before this attempt.
func (c *serverReader) tokens(p serverParams) []Signal {
	total := Usage{Input: p.Usage.Total.Input, Output: p.Usage.Total.Output, Cached: p.Usage.Total.Cached}
	if c.turn == "" || p.TurnID != c.turn {
		c.before = &total
		return nil
	}
	if c.before == nil {
		last := p.Usage.Last
		c.before = &Usage{Input: total.Input - last.Input, Output: total.Output - last.Output, Cached: total.Cached - last.Cached}
	}
	context := Context{Tokens: p.Usage.Last.Input + p.Usage.Last.Output, Window: p.Usage.Window}
	return []Signal{{Usage: since(total, *c.before), Context: context}}
}

// limits handles a report of the server on the account's two rate limits. It stores the time when
// an exhausted limit ends. If both are exhausted, it stores the later time.
func (c *serverReader) limits(p serverParams) {
	for _, w := range []struct {
		Used     float64 `json:"usedPercent"`
		ResetsAt float64 `json:"resetsAt"`
	}{p.Limits.Primary, p.Limits.Secondary} {
		if at := unixTime(w.ResetsAt); w.Used >= 100 && at.After(c.reset) {
			c.reset = at
		}
	}
}

func (c *serverReader) completed(p serverParams) []Signal {
	if c.turn != "" && p.Turn.ID != c.turn {
		return nil
	}
	c.final = &finalMessage{class: failure.Crashed, text: appendDetail("the turn ended", p.Turn.Status)}
	switch {
	case p.Turn.Error != nil:
		c.final = p.Turn.Error.finalMessage()
		c.final.reset = c.reset
	case p.Turn.Status == "completed":
		c.final = &finalMessage{text: c.text}
	case p.Turn.Status == "interrupted" && c.interrupted:
		c.final = &finalMessage{class: failure.Interrupted, text: InterruptedText}
	}
	return []Signal{{Ended: true}}
}

func (e serverError) finalMessage() *finalMessage {
	var kind string
	var status int
	if json.Unmarshal(e.Info, &kind) != nil {
		var by map[string]struct {
			Status int `json:"httpStatusCode"`
		}
		_ = json.Unmarshal(e.Info, &by)
		for _, cause := range by {
			status = max(status, cause.Status)
		}
	}
	return &finalMessage{class: codexClass(kind, status, e.Message), text: e.Message}
}

func (c *serverReader) Verdict(exit Exit) Verdict {
	return judge(c.final, c.denied, c.otherOutput.String(), exit)
}
