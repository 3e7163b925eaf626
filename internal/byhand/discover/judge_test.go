package discover

import (
	"os"
	"strings"
	"testing"
	"time"

	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/hookevents"
	"gaffer/statefile/host"
)

var noon = time.Date(2026, 2, 17, 12, 0, 0, 0, time.UTC)

func alive(program string) Evidence {
	return Evidence{Program: program, Alive: host.Alive, Dir: "/src/web", Process: host.Process{PID: 42, Start: 7, Boot: "b"}}
}

// hook returns a session with this status, whose last hook event has this age.
func hook(status hookevents.Status, age time.Duration) *hookevents.Session {
	s := &hookevents.Session{Program: agentproc.Claude, Session: "s", Status: status, At: noon.Add(-age), Since: noon.Add(-age)}
	if status == hookevents.Waiting {
		s.Asked = []hookevents.PendingDecision{{Tool: "Bash", What: "make"}}
	}
	return s
}

func TestTheFirstSourceWithAStatusCounts(t *testing.T) {
	title := func(text string) *Title { return &Title{Text: text, Host: "box"} }
	const long = time.Minute
	for name, c := range map[string]struct {
		program string
		change  func(*Evidence)
		want    string // status, source, and what the agent waits for
	}{
		"the file beats a newer hook": {agentproc.Claude, func(e *Evidence) {
			e.File, e.Hook = &SessionFile{Status: "idle", Start: 7}, hook(hookevents.Running, 0)
		}, "idle sessions-file"},
		"the file of Esc": {agentproc.Claude, func(e *Evidence) {
			e.File, e.Hook = &SessionFile{Status: "idle", Start: 7}, hook(hookevents.Waiting, long)
		}, "idle sessions-file"},
		"busy is running": {agentproc.Claude, func(e *Evidence) { e.File = &SessionFile{Status: "busy"} }, "running sessions-file"},
		"the hook knows more of a wait": {agentproc.Claude, func(e *Evidence) {
			e.File, e.Hook = &SessionFile{Status: "waiting", For: "permission prompt"}, hook(hookevents.Waiting, 0)
		}, "waiting sessions-file Bash: make"},
		"a wait without a hook":            {agentproc.Claude, func(e *Evidence) { e.File = &SessionFile{Status: "waiting", For: "permission prompt"} }, "waiting sessions-file permission prompt"},
		"the file of another process":      {agentproc.Claude, func(e *Evidence) { e.File, e.Hook = &SessionFile{Status: "busy", Start: 8}, hook(hookevents.Idle, 0) }, "idle hook"},
		"a file without a status":          {agentproc.Claude, func(e *Evidence) { e.File, e.Hook = &SessionFile{Start: 7}, hook(hookevents.Running, 0) }, "running hook"},
		"a file with a word of tomorrow":   {agentproc.Claude, func(e *Evidence) { e.File, e.Hook = &SessionFile{Status: "dreaming"}, hook(hookevents.Running, 0) }, "running hook"},
		"a title shows what no hook tells": {agentproc.Claude, func(e *Evidence) { e.Title, e.Hook = title("✳ Claude Code"), hook(hookevents.Running, long) }, "idle title"},
		"a title that lags": {agentproc.Claude, func(e *Evidence) {
			e.Title, e.Hook = title("✳ Claude Code"), hook(hookevents.Running, time.Second)
		}, "running hook"},
		"a title cannot tell a wait": {agentproc.Claude, func(e *Evidence) { e.Title, e.Hook = title("✳ Claude Code"), hook(hookevents.Waiting, long) }, "waiting hook Bash: make"},
		"a title without hooks":      {agentproc.Claude, func(e *Evidence) { e.Title = title("⠂ Claude Code") }, "running title"},
		"nothing but a process":      {agentproc.Claude, func(*Evidence) {}, "idle process"},
		"a screen": {agentproc.Claude, func(e *Evidence) {
			e.Screen = "x\n Do you want to proceed?\n ❯ 1. Yes\n Esc to cancel · Tab to amend\n\n\n"
		}, "waiting screen a decision"},
		"a screen of setting up":             {agentproc.Claude, func(e *Evidence) { e.Screen = "Do you trust the files in this folder?" }, "waiting screen needs set-up: trust the folder"},
		"a screen is the last":               {agentproc.Claude, func(e *Evidence) { e.Screen, e.Hook = "Esc to cancel", hook(hookevents.Idle, 0) }, "idle hook"},
		"a hook of a session that has ended": {agentproc.Claude, func(e *Evidence) { e.Hook = &hookevents.Session{Status: hookevents.Running, Ended: true} }, "idle process"},
		"codex: the title beats the hook":    {agentproc.Codex, func(e *Evidence) { e.Title, e.Hook = title("web"), hook(hookevents.Running, 0) }, "idle title"},
		"codex: the title beats the rollout": {agentproc.Codex, func(e *Evidence) { e.Title, e.Rollout = title("⠏ web"), &Rollout{Status: hookevents.Idle} }, "running title"},
		"codex: it waits":                    {agentproc.Codex, func(e *Evidence) { e.Title, e.Hook = title("[ ! ] Action Required | web"), hook(hookevents.Waiting, 0) }, "waiting title Bash: make"},
		"codex: it waits, blinking":          {agentproc.Codex, func(e *Evidence) { e.Title = title("[ . ] Action Required | web") }, "waiting title action required"},
		"codex: a title that nobody has set": {agentproc.Codex, func(e *Evidence) { e.Title, e.Rollout = title("box"), &Rollout{Status: hookevents.Running} }, "running rollout"},
		"codex: the shell's title": {agentproc.Codex, func(e *Evidence) {
			e.Title, e.Rollout = title("ada@box: ~"), &Rollout{Status: hookevents.Idle, Error: "x"}
		}, "idle rollout"},
		"codex: a rollout knows no waiting": {agentproc.Codex, func(e *Evidence) {
			e.Rollout, e.Hook = &Rollout{Status: hookevents.Running, Since: noon.Add(-long)}, hook(hookevents.Waiting, time.Second)
		}, "waiting hook Bash: make"},
		"codex: an old wait": {agentproc.Codex, func(e *Evidence) {
			e.Rollout, e.Hook = &Rollout{Status: hookevents.Running, Since: noon}, hook(hookevents.Waiting, long)
		}, "running rollout"},
		"codex: a newer hook than a rollout": {agentproc.Codex, func(e *Evidence) {
			e.Rollout, e.Hook = &Rollout{Status: hookevents.Idle, Since: noon.Add(-long)}, hook(hookevents.Running, 0)
		}, "idle rollout"},
		"codex: hooks alone":  {agentproc.Codex, func(e *Evidence) { e.Hook = hook(hookevents.Running, 0) }, "running hook"},
		"codex: set-up":       {agentproc.Codex, func(e *Evidence) { e.Title, e.Screen = title("box"), "Hooks need review" }, "waiting screen needs set-up: review the hooks"},
		"gemini: ready":       {agentproc.Gemini, func(e *Evidence) { e.Title, e.Hook = title("◇  Ready (web)   "), hook(hookevents.Running, 0) }, "idle title"},
		"gemini: working":     {agentproc.Gemini, func(e *Evidence) { e.Title = title("✦  Working… (web)") }, "running title"},
		"gemini: waiting":     {agentproc.Gemini, func(e *Evidence) { e.Title = title("✋  Action Required (web)") }, "waiting title action required"},
		"gemini: hooks":       {agentproc.Gemini, func(e *Evidence) { e.Title, e.Hook = title("box"), hook(hookevents.Waiting, long) }, "waiting hook Bash: make"},
		"stopped by a signal": {agentproc.Codex, func(e *Evidence) { e.Title, e.Stopped = title("⠏ web"), true }, "idle process stopped by a signal"},
	} {
		e := alive(c.program)
		c.change(&e)
		s, ok := Judge(e, noon)
		got := strings.TrimSpace(strings.Join([]string{string(s.Status), string(s.Source), s.For}, " "))
		if !ok || got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAnEndedProcessOverridesAllSources(t *testing.T) {
	e := alive(agentproc.Claude)
	e.File, e.Hook, e.Alive = &SessionFile{Status: "busy", Start: 7}, hook(hookevents.Running, 0), host.Dead
	if s, ok := Judge(e, noon); ok {
		t.Errorf("dead: %+v", s)
	}
	e.Alive, e.File = host.Unknown, nil
	if s, ok := Judge(e, noon); !ok || s.Status != hookevents.Running || s.Source != FromHook {
		t.Errorf("heard of just now: %+v, %v", s, ok)
	}
	e.Hook = hook(hookevents.Running, 2*time.Hour)
	if s, ok := Judge(e, noon); ok {
		t.Errorf("not heard of for long: %+v", s)
	}
}

func TestOnlyAnErrorOfTheLastTurnIsShown(t *testing.T) {
	e := alive(agentproc.Claude)
	e.Hook = hook(hookevents.Idle, time.Second)
	e.Hook.Error = "rate_limit"
	e.File = &SessionFile{Status: "idle"}
	if s, _ := Judge(e, noon); s.Error != "rate_limit" {
		t.Errorf("%+v", s)
	}
	e.File = &SessionFile{Status: "busy"}
	if s, _ := Judge(e, noon); s.Error != "" {
		t.Errorf("%+v", s)
	}
	e.File = &SessionFile{Status: "idle", Session: "another"}
	if s, _ := Judge(e, noon); s.Error != "" || s.Session != "another" {
		t.Errorf("%+v", s)
	}
}

func TestARolloutShowsTheStatusOfItsLastTurn(t *testing.T) {
	row := func(kind, more string) string {
		return `{"timestamp":"2026-11-15T21:08:09.970Z","type":"event_msg","payload":{"type":"` + kind + `"` + more + `}}` + "\n"
	}
	tokens := row("token_count", `,"info":{"last_token_usage":{"total_tokens":127},"model_context_window":1000}`)
	for name, c := range map[string]struct {
		text string
		want Rollout
	}{
		"nothing":         {"", Rollout{}},
		"begun":           {row("task_complete", "") + row("task_started", "") + row("item_completed", ""), Rollout{Status: hookevents.Running}},
		"complete":        {row("task_started", "") + tokens + row("task_complete", `,"error":null`), Rollout{Status: hookevents.Idle, Tokens: 127, Context: 1000}},
		"begun again":     {tokens + row("task_complete", "") + row("task_started", ""), Rollout{Status: hookevents.Running, Tokens: 127, Context: 1000}},
		"failed":          {row("task_started", "") + row("task_complete", `,"error":{"message":"high\ndemand"}`), Rollout{Status: hookevents.Idle, Error: "high demand"}},
		"aborted":         {row("task_started", "") + row("turn_aborted", `,"reason":"interrupted"`), Rollout{Status: hookevents.Idle}},
		"cut off":         {`arted"}}` + "\n" + tokens, Rollout{Tokens: 127, Context: 1000}},
		"half a row":      {row("task_started", "") + tokens + `{"timestamp":"2026-11-15T21:0`, Rollout{Status: hookevents.Running, Tokens: 127, Context: 1000}},
		"no rollout":      {"\x00\xff\n[1]\n\"event_msg\"\n{\"type\":\"event_msg\"}\n", Rollout{}},
		"said by a model": {row("task_started", "") + `{"type":"response_item","payload":{"text":"\"event_msg\" task_complete"}}` + "\n", Rollout{Status: hookevents.Running}},
	} {
		got := parseRollout([]byte(c.text))
		if got.Since = (time.Time{}); *got != c.want {
			t.Errorf("%s: %+v, want %+v", name, *got, c.want)
		}
	}
}

func TestOnlyTheEndOfALongRolloutIsRead(t *testing.T) {
	const name = "rollout-2026-11-15T21-08-06-01a1e109-ed5b-7460-b7ca-9e559e472921.jsonl"
	path := t.TempDir() + "/" + name
	mark := `{"timestamp":"2026-11-15T21:08:09.970Z","type":"event_msg","payload":{"type":"task_started"}}` + "\n"
	for lines, want := range map[int]hookevents.Status{10: hookevents.Running, 1000: hookevents.Running, 20_000: ""} {
		text := mark + strings.Repeat(`{"type":"response_item","payload":{"text":"`+strings.Repeat("x", 60)+`"}}`+"\n", lines)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := readRollout(path)
		if err != nil || r.Status != want || r.Thread != "01a1e109-ed5b-7460-b7ca-9e559e472921" {
			t.Errorf("%d lines: %+v, %v", lines, r, err)
		}
	}
}

func FuzzParseRollout(f *testing.F) {
	f.Add([]byte(`{"type":"event_msg","payload":{"type":"task_started"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r := parseRollout(data); r.Status != "" && r.Status != hookevents.Idle && r.Status != hookevents.Running {
			t.Errorf("%+v", r)
		}
	})
}
