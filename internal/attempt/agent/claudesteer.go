package agent

// claudeInterrupt is the id of the request by which gaffer ends the agent's turn.
const claudeInterrupt = "gaffer-interrupt"

// InterruptedText is the summary of an attempt whose turn the user has interrupted.
const InterruptedText = "interrupted"

// Message implements [Steerable]. If now is set, Claude Code ends the current turn and passes the
// message to the model at once. Otherwise it queues the message and passes it to the model after
// the next tool call. If no tool call follows in the current turn, Claude Code starts another turn
// for the message.
func (c *claudeReader) Message(id, text string, now bool) []byte {
	line := object{"type": "user", "uuid": MessageKey(id), "message": object{"role": "user", "content": text}}
	if now {
		line["priority"] = "now"
	}
	return encode(line)
}

// Withdraw implements [Steerable]: Claude Code removes the message from its queue.
func (c *claudeReader) Withdraw(id string) []byte {
	key := MessageKey(id)
	return encode(object{"type": "control_request", "request_id": "gaffer-withdraw-" + key, "request": object{
		"subtype": "cancel_async_message", "message_uuid": key,
	}})
}

// Interrupt implements [Steerable]. The caller must withdraw queued messages first, because Claude
// Code would start another turn for them.
func (c *claudeReader) Interrupt() []byte {
	return encode(object{"type": "control_request", "request_id": claudeInterrupt, "request": object{"subtype": "interrupt"}})
}
