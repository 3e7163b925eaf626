package agentsettings

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestAnEntryThatTheUserHasExtendedStays(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"claude-mcp-": `{
  "mcpServers": {
    "gaffer": {
      "command": "/old/gaffer", // where it was
      "args": ["mcp", "--role", "reader"],
      "env": {"GAFFER_DATABASE": "pg"}
    },
    "other": {"command": "x"}
  }
}
`,
		"claude-settings-":       "{\n  \"statusLine\": {\"command\": \"/old/gaffer statusline --all\", \"padding\": 2}, \"model\": \"opus\"\n}\n",
		"codex-config- table":    "[mcp_servers.gaffer] # ours\ncommand = '/old/gaffer'\nargs = [\"mcp\"]\ntool_timeout_sec = 60\n\n[a]\nb = 1\n\n[mcp_servers.gaffer.env]\nGAFFER_DATABASE = \"pg\"\n",
		"codex-config- dotted":   "mcp_servers.gaffer.command = \"/old/gaffer\"\nmcp_servers.gaffer.args = [\"mcp\", \"--role\", \"reader\"]\n",
		"codex-config- inline":   "mcp_servers = { gaffer = { args = [\"mcp\"], enabled = false, command = \"/old/gaffer\" }, b = { command = \"x\" } }\n",
		"codex-config- in it":    "[mcp_servers]\ngaffer = { command = \"/old/gaffer\", args = [\"mcp\", \"--role\", \"pm\"] }\n",
		"codex-config- in a key": "mcp_servers = { gaffer.args = [\"mcp\", \"-v\"], gaffer.command = \"/old/gaffer\" }\n",
	} {
		t.Run(name, func(t *testing.T) {
			root, e := t.TempDir(), editor(t)
			put(t, theFile(t, wish(), root, name).Path, []byte(text))
			for _, program := range []string{"/new/gaffer", "/newer/gaffer"} { // the second program finds the entries of the first
				w := wish()
				w.Argv, w.Shell = []string{program}, program
				f := theFile(t, w, root, name)
				do(t, e, f)
				made := get(t, f.Path)
				want := strings.NewReplacer(`"/old/gaffer`, `"`+program, `'/old/gaffer'`, `"`+program+`"`).Replace(text)
				if head, _, hooked := strings.Cut(want, "\"opus\""); !bytes.HasPrefix(made, []byte(head)) || !hooked && string(made) != want {
					t.Errorf("became\n%s", made)
				}
				if again := do(t, e, f); again[0].Changes() {
					t.Errorf("a second time changes it:\n%s", get(t, f.Path))
				}
			}
			f := theFile(t, wish(), root, name)
			clean, err := Strip(f.Format, []byte(text), f.Entries, nil)
			if err != nil {
				t.Fatal(err)
			}
			undo(t, e, f)
			if back := get(t, f.Path); !bytes.Equal(back, clean) {
				t.Errorf("came back as\n%s, want\n%s", back, clean)
			}
		})
	}
}

func TestAnUnchangedEntryOfOursIsUpdated(t *testing.T) {
	t.Parallel()
	made := planned(t, TOML, "[mcp_servers.gaffer]\ncommand = \"gaffer\"\nargs = [\"mcp\"]\n", []Entry{wish().tomlServer()})
	if !bytes.Contains(made, []byte("tool_timeout_sec = 1800")) {
		t.Errorf("became\n%s", made)
	}
}

func TestACommandLineWithMoreThanOurCommandIsNotOurs(t *testing.T) {
	t.Parallel()
	for line, ours := range map[string]bool{
		"gaffer statusline":                            true,
		"/opt/gaffer statusline --fleet":               true,
		"'/opt/my tools/gaffer' statusline --all":      true,
		`'/it'\''s/gaffer' statusline`:                 true,
		`"$HOME/bin/gaffer" statusline`:                true,
		"gaffer statusline --fleet | my-filter":        false,
		"gaffer statusline; date":                      false,
		"gaffer statusline --fleet && date":            false,
		"gaffer statusline --fleet --json":             false,
		"gaffer statusline > /tmp/x":                   false,
		"cd /src && /opt/gaffer statusline":            false,
		"NO_COLOR=1 /opt/gaffer statusline":            false,
		"'/opt/wrap' '/opt/gaffer' statusline --fleet": false,
	} {
		if got := isOurLine(map[string]any{"command": line}); got != ours {
			t.Errorf("%s: ours %v", line, got)
		}
	}
	text := `{"statusLine": {"type": "command", "command": "gaffer statusline --fleet | my-filter"}, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "gaffer hook claude && notify-send done"}]}]}}`
	w := wish()
	c, err := Plan(JSON, []byte(text), nil, append(w.hooks(Claude, ClaudeEvents()), w.statusLine()))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(c.New, []byte("| my-filter")) || !bytes.Contains(c.New, []byte("&& notify-send done")) || !slices.Contains(c.Kept, "status line") {
		t.Errorf("kept %q:\n%s", c.Kept, c.New)
	}
}
