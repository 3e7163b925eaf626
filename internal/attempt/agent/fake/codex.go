package fake

import (
	"fmt"
	"time"
)

// codex imitates "codex exec". That program cannot ask the user, so it denies every request for
// permission.
type codex struct {
	*stdio
	options
	oneTurn
	items int
}

func (c *codex) begin() (string, error) {
	if c.thread == "" {
		c.thread = uuid()
	}
	prompt := c.prompt
	if !c.given {
		c.writeStderr("Reading additional input from stdin...")
		var err error
		if prompt, err = c.readAll(); err != nil {
			return "", fmt.Errorf("read the prompt: %w", err)
		}
	}
	c.writeJSON(object{"type": "thread.started", "thread_id": c.thread})
	c.writeJSON(object{"type": "turn.started"})
	return prompt, nil
}

func (c *codex) item(event string, item object) {
	c.writeJSON(object{"type": event, "item": item})
}

func (c *codex) number() string {
	c.items++
	return fmt.Sprintf("item_%d", c.items)
}

func (c *codex) say(text string) {
	c.item("item.completed", object{"id": c.number(), "type": "agent_message", "text": text})
}

func (c *codex) tool(_ string, input object) func(string, int) {
	item := object{"id": c.number(), "type": "command_execution", "command": shellCommand(input), "aggregated_output": "", "exit_code": nil, "status": "in_progress"}
	c.item("item.started", item)
	return func(output string, code int) {
		item["aggregated_output"], item["exit_code"], item["status"] = output, code, "completed"
		if code != 0 {
			item["status"] = "failed"
		}
		c.item("item.completed", item)
	}
}

func shellCommand(input object) string { return "/bin/bash -lc '" + commandOf(input) + "'" }

// commandOf returns the command in a tool's input, or the file's path if the input has no command.
func commandOf(input object) string {
	if command, ok := input["command"]; ok {
		return fmt.Sprint(command)
	}
	return fmt.Sprint(input["file_path"])
}

func (c *codex) ask(string, []string) (string, bool) { return "", false }

func (c *codex) permission(string, string) bool {
	c.writeStderr(time.Now().UTC().Format(time.RFC3339) + " ERROR codex_core::tools::router: error=approval policy is Never; reject command")
	return false
}

func (c *codex) retry(n int) {
	c.writeJSON(object{"type": "error", "message": fmt.Sprintf("Reconnecting... %d/5 (stream disconnected before completion)", n)})
}

func (c *codex) compact() {}

func (c *codex) halfDone() { c.line(`{"type":"turn.completed","usage":{"input_tok`) }

func (c *codex) done(text string, u usage) {
	c.say(text)
	c.writeJSON(object{"type": "turn.completed", "usage": object{"input_tokens": u.input, "cached_input_tokens": u.cached, "output_tokens": u.output}})
}

func (c *codex) failed(f fault, _ usage) int {
	text := codexMessage(f)
	c.writeJSON(object{"type": "error", "message": text})
	c.writeJSON(object{"type": "turn.failed", "error": object{"message": text}})
	return 1
}

// codexMessage returns Codex's error message for a fault. Codex prints reset times in whole
// minutes, so codexMessage rounds the reset time up.
func codexMessage(f fault) string {
	switch {
	case !f.reset.IsZero():
		at := f.reset.Add(time.Minute - time.Nanosecond).Truncate(time.Minute)
		return fmt.Sprintf("You've hit your usage limit. Visit the settings to purchase more credits or try again at %s.", at.Format("Jan 2, 2006 3:04 PM"))
	case f.status == 429:
		return "exceeded retry limit, last status: 429 Too Many Requests"
	case f.status != 0 && f.text == "":
		return fmt.Sprintf("unexpected status %d: fake error", f.status)
	}
	return f.message()
}
