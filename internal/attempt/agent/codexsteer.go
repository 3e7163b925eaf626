package agent

import (
	"encoding/json"
	"strings"
)

// Ids of the requests that gaffer sends when the user interrupts the agent or sends it a message.
const (
	serverInterrupt = "gaffer-interrupt"
	serverMessage   = "gaffer-message-" // prefix; the message's key follows
)

// Message implements [Steerable]. It returns a turn/start request. If a turn runs, the server adds
// the message to that turn: it passes the message to the model after the next tool call, or
// interrupts the text that the model is writing. If no turn runs, the server starts one. So the
// same request is right in both cases.
func (c *serverReader) Message(id, text string, _ bool) []byte {
	if c.turn == "" {
		return nil
	}
	key := MessageKey(id)
	return encode(object{"id": serverMessage + key, "method": "turn/start", "params": object{
		"threadId": c.thread, "input": []object{{"type": "text", "text": text}}, "clientUserMessageId": key,
	}})
}

// Withdraw implements [Steerable]. It returns nil because the app server cannot withdraw a message.
func (c *serverReader) Withdraw(string) []byte { return nil }

// Interrupt implements [Steerable]. After an interrupt, the server drops messages that it has not
// passed to the model. Commands that the agent has started keep running until the server exits.
func (c *serverReader) Interrupt() []byte {
	if c.turn == "" || c.final != nil {
		return nil
	}
	return encode(object{"id": serverInterrupt, "method": "turn/interrupt", "params": object{"threadId": c.thread, "turnId": c.turn}})
}

// steered handles the server's response to a request that sent a message or interrupted the turn.
func (c *serverReader) steered(l serverLine) []Signal {
	var id string
	_ = json.Unmarshal(l.ID, &id)
	key, isMessage := strings.CutPrefix(id, serverMessage)
	switch {
	case isMessage && l.Error != nil:
		return []Signal{{Refused: key}}
	case id == serverInterrupt && l.Error == nil:
		c.interrupted = true
	}
	return nil
}

// began handles the server's report that a turn has started. It ignores the first turn, which is
// known from the response to turn/start.
func (c *serverReader) began(p serverParams) []Signal {
	if c.turn == "" || p.Turn.ID == c.turn {
		return nil
	}
	c.turn, c.final, c.text = p.Turn.ID, nil, ""
	return []Signal{{State: Running, Resumed: true}}
}
