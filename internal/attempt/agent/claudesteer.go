package agent

// claudeInterrupt is the id of our request to end the turn.
const claudeInterrupt = "gaffer-interrupt"

// interruptedText is the summary of an attempt that the user has interrupted.
const interruptedText = "interrupted"

// Message implements [Steerable]. Claude Code queues the message and passes it to the
// model after the next tool call. If there is none, Claude Code starts another turn after
// the result.
func (c *claudeReader) Message(id, text string, now bool) []byte {
	line := object{"type": "user", "uuid": MessageKey(id), "message": object{"role": "user", "content": text}}
	if now {
		line["priority"] = "now"
	}
	return encode(line)
}

// Withdraw implements [Steerable].
func (c *claudeReader) Withdraw(id string) []byte {
	key := MessageKey(id)
	return encode(object{"type": "control_request", "request_id": "gaffer-withdraw-" + key, "request": object{
		"subtype": "cancel_async_message", "message_uuid": key,
	}})
}

// Interrupt implements [Steerable]. Messages that are still queued must be withdrawn
// before, because Claude Code would start a turn for them.
func (c *claudeReader) Interrupt() []byte {
	return encode(object{"type": "control_request", "request_id": claudeInterrupt, "request": object{"subtype": "interrupt"}})
}
