package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"syscall"
	"testing"
)

func TestArgumentsThatAreWrongAreRefusedWithAnExample(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	c := p.serve(nil)
	long := strings.Repeat("x", 64<<10+1)
	for _, call := range [][]string{
		{"inbox_add", `{}`, "usage: arguments: ", "next: valid arguments: {"},
		{"inbox_add", `{"type": "evolve", "content": "x", "more": 1}`, "more"},
		{"inbox_add", `{"type": "evolve", "content": ` + quoted("%s", long) + `}`, "maxLength"},
		{"inbox_add", `{"type": "nope", "content": "x"}`, "enum"},
		{"inbox_add", `{"type": "evolve", "content": " "}`, "content: is empty"},
		{"inbox_take", `{"id": "nope"}`, "not_found: ", "next: "},
		{"inbox_finish", `{"id": ""}`, "not_found: "},
		{"session_read", `{"id": "../../etc"}`, "session id"},
		{"session_list", `{"limit": 100000}`, "maximum"},
		{"state_read", `{"path": "a..b"}`, "a..b"},
		{"event_emit", `{"kind": "chunk-started", "fields": {"attempt": "x"}}`, "usage: ", "attempt"},
		{"event_emit", `{"kind": "x", "fields": [1]}`, "object"},
		{"event_emit", `{"kind": "x", "fields": {"deep": ` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}}`, "deep"},
		{"message_send", `{"from": "developer", "group": "A", "subject": "s"}`, "not_found: ", "next: "},
		{"message_send", `{"group": "A", "subject": "s"}`, "sender is not named"},
		{"plan_submit", `{}`, "either text or file"},
		{"plan_submit", `{"file": "../plan.yaml"}`, "not below the project's root"},
		{"plan_submit", `{"file": "/etc/passwd"}`, "not below the project's root"},
		{"plan_submit", `{"text": "tasks: [{id: ../x, agent: claude, prompt: x}]"}`, "invalid: ", "../x"},
		{"run_status", `{"run": "../x"}`, "not_found: "},
		{"person_ask", `{"question": "q", "within_seconds": 1000000}`, "maximum"},
		{"step_begin", `{"step": "interviewer"}`, "State Owner must run before", "(2) Skip"},
	} {
		c.refused(call[0], call[1], call[2:]...)
	}
	// Check that the calls above have not damaged the server.
	c.call("inbox_list", `{"status": "*"}`, nil)
	if names := c.names(); len(names) != 16 {
		t.Errorf("%d tools are left", len(names))
	}
}

// answers runs a server with this input, and returns the lines that it prints and its exit code.
func answers(t *testing.T, p project, input string) (lines []map[string]any, code int) {
	t.Helper()
	cmd := p.gaffer("mcp")
	cmd.Stdin = strings.NewReader(input)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	code = ended(t, cmd)
	scan := bufio.NewScanner(&out)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var line map[string]any
		if err := json.Unmarshal(scan.Bytes(), &line); err != nil || line["jsonrpc"] != "2.0" {
			t.Errorf("not of the protocol: %.200s", scan.Text())
		}
		lines = append(lines, line)
	}
	if code != 0 {
		t.Logf("stderr: %s", talk.String())
	}
	return lines, code
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

func TestRequestsBeforeTheEndOfTheInputAreAnswered(t *testing.T) {
	t.Parallel()
	said := hello
	for i := range 50 {
		said += `{"jsonrpc":"2.0","id":` + quoted("c%d", i) + `,"method":"tools/call","params":{"name":"inbox_add","arguments":{"type":"evolve","content":"x"}}}` + "\n"
	}
	p := newProject(t)
	lines, code := answers(t, p, said)
	if len(lines) != 51 || code != 0 {
		t.Errorf("%d answers, exit code %d", len(lines), code)
	}
	var box []any
	p.document(".fctry/inbox.json", &box)
	if len(box) != 50 {
		t.Errorf("%d items", len(box))
	}
}

func TestInvalidInputEndsOnlyTheServer(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for name, said := range map[string]string{
		"no JSON":             "hello\n",
		"half a message":      hello + `{"jsonrpc":"2.0","id":`,
		"a message of 17 MiB": hello + `{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"x":"` + strings.Repeat("x", 17<<20) + `"}}` + "\n",
		"brackets":            strings.Repeat("[", 1<<20),
	} {
		if _, code := answers(t, p, said); code != 1 {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
	for name, said := range map[string]string{
		"nothing":              "",
		"a method of no kind":  hello + `{"jsonrpc":"2.0","id":5,"method":"nope"}` + "\n",
		"a number of a twice":  hello + strings.Repeat(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`+"\n", 2),
		"arguments of no kind": hello + `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"inbox_add","arguments":[1]}}` + "\n",
		"no arguments":         hello + `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"inbox_take"}}` + "\n",
	} {
		if _, code := answers(t, p, said); code != 0 {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
}

func TestAServerEndsOnASignal(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	cmd := p.gaffer("mcp")
	in, out := pipes(t, cmd)
	if _, err := in.Write([]byte(hello)); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // wait until the server is running
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := ended(t, cmd); code != 0 {
		t.Errorf("exit code %d", code)
	}
	_ = in.Close()
}
