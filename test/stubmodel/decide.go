package stubmodel

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// modelRequest is a request to the model. It has the same form for the APIs of all vendors.
type modelRequest struct {
	model  string
	stream bool
	tools  []tool
	done   bool // the conversation ends with the result of a tool call
	side   bool // not a turn of the user's conversation; see [Request.Side]
	// running is the id of the shell session in which the command of the last tool call still runs.
	// It is empty if the command has ended. Only Codex returns from a call before its command ends.
	running string
}

// tool is a tool that the agent program offers to the model.
type tool struct {
	name   string
	space  string // namespace of the tool; empty in protocols without namespaces
	params map[string]any
}

func (h modelRequest) names() []string {
	var names []string
	for _, t := range h.tools {
		names = append(names, t.name)
	}
	return names
}

// find returns the first of the named tools that the agent program offers to the model. The program
// may put a prefix that ends with two underscores before a tool's name, as it does for tools of MCP
// servers. So find("echo") also finds mcp__server__echo.
func (h modelRequest) find(names ...string) (tool, bool) {
	for _, name := range names {
		for _, t := range h.tools {
			if t.name == name || strings.HasSuffix(t.name, "__"+name) {
				return t, true
			}
		}
	}
	return tool{}, false
}

// reply is the model's answer: a text or a tool call.
type reply struct {
	text string
	call *call
}

type call struct {
	tool
	args object
	free string // input of the call if the tool takes plain text instead of arguments
}

// decide returns the model's answer to the request h. If the mode m calls a tool, the answer is a
// call of that tool. Otherwise it is a text. It is also a text in three cases: the agent program
// does not offer the tool; the request is not a turn of the conversation (h.side); or the request
// ends with the result of a tool call (h.done) and the mode is not "loop".
func decide(m Mode, h modelRequest) reply {
	if h.side || h.done && m.Kind != "loop" {
		return said(h.done)
	}
	if c := calls(m, h); c != nil {
		return reply{call: c}
	}
	if m.Kind == "text" && m.Arg != "" {
		return reply{text: m.Arg}
	}
	return said(h.done)
}

func said(done bool) reply {
	if done {
		return reply{text: Done}
	}
	return reply{text: Text}
}

func calls(m Mode, h modelRequest) *call {
	switch m.Kind {
	case "tool", "toolx", "loop":
		return shell(m, h)
	case "write":
		return write(m.or("stub-out.txt"), h)
	case "ask":
		return ask(h)
	case "task":
		return named(h, object{"description": "say hello", "prompt": subAgent + " say hello", "subagent_type": "general-purpose"}, "Agent", "Task")
	case "call":
		name, args, _ := strings.Cut(m.Arg, ":")
		var given object
		if json.Unmarshal([]byte(args), &given) != nil {
			given = object{}
		}
		return named(h, given, name)
	}
	return nil
}

func named(h modelRequest, args object, names ...string) *call {
	t, ok := h.find(names...)
	if !ok {
		return nil
	}
	return &call{tool: t, args: args}
}

// shell returns a call of the tool that runs shell commands, or nil if the agent program offers no
// such tool. Agent programs use different names for the tool and its arguments.
func shell(m Mode, h modelRequest) *call {
	c := named(h, object{}, "Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command", "execute_command")
	if c == nil {
		return nil
	}
	command := m.or("echo hi")
	key := "command"
	if _, ok := c.params["cmd"]; ok {
		key = "cmd"
	}
	c.args[key] = command
	if p, _ := c.params[key].(map[string]any); p["type"] == "array" {
		c.args[key] = []string{"bash", "-lc", command}
	}
	if _, ok := c.params["description"]; ok {
		c.args["description"] = "Run " + command
	}
	if _, ok := c.params["yield_time_ms"]; ok {
		c.args["yield_time_ms"] = 30_000 // the maximum that Codex accepts; for longer commands, see the function wait
	}
	if _, ok := c.params["sandbox_permissions"]; ok && m.Kind == "toolx" {
		c.args["sandbox_permissions"] = "require_escalated"
		c.args["justification"] = "the stub model wants out"
	}
	return c
}

// wait returns a tool call that waits for the command of an earlier tool call. It returns nil if no
// such command still runs.
func wait(h modelRequest) *call {
	id, err := strconv.Atoi(h.running)
	if err != nil {
		return nil
	}
	return named(h, object{"session_id": id, "chars": "", "yield_time_ms": 5000}, "write_stdin") // the shortest wait that Codex accepts
}

func write(file string, h modelRequest) *call {
	if c := named(h, object{"file_path": file, "content": "hi\n"}, "Write", "write_file"); c != nil {
		return c
	}
	if c := named(h, object{"filePath": file, "content": "hi\n"}, "write"); c != nil {
		return c
	}
	if c := named(h, nil, "apply_patch"); c != nil {
		c.free = "*** Begin Patch\n*** Add File: " + file + "\n+hi\n*** End Patch\n"
		return c
	}
	return shell(Mode{Kind: "tool", Arg: "echo hi > '" + file + "'"}, h)
}

// Question is the question that the model asks the user in mode "ask".
const Question = "Which colour?"

// Colours returns the answers that the user can choose for [Question].
func Colours() []string { return []string{"Red", "Blue"} }

func ask(h modelRequest) *call {
	var options []object
	for _, c := range Colours() {
		options = append(options, object{"label": c, "description": "the colour " + strings.ToLower(c)})
	}
	question := object{"question": Question, "header": "Colour", "options": options}
	if c := named(h, object{"questions": []object{question}}, "AskUserQuestion"); c != nil {
		question["multiSelect"] = false
		return c
	}
	question["id"] = "colour"
	return named(h, object{"questions": []object{question}}, "request_user_input")
}

// subAgent is a word by which the stub model recognizes the prompt of a sub-agent. It answers such
// a prompt with a text.
const subAgent = "SUBAGENT"

// isSide reports whether a prompt asks for a title or comes from a sub-agent. Such a prompt is not
// a turn of the user's conversation.
func isSide(text string) bool {
	return slices.ContainsFunc([]string{"Generate a concise, single-line task title", subAgent}, func(s string) bool {
		return strings.Contains(text, s)
	})
}
