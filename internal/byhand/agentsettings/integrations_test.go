package agentsettings

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

const integrations = "../../../integrations/"

// shipped returns the integration whose files are in the repository, which is also the default of
// 'gaffer init'.
func shipped() Integration { return Integration{Argv: []string{"gaffer"}, Shell: "gaffer"} }

// same fails the test if a file of the repository differs from want. If UPDATE_INTEGRATIONS is set,
// it writes the file instead.
func same(t *testing.T, name string, want []byte) {
	t.Helper()
	if os.Getenv("UPDATE_INTEGRATIONS") != "" {
		if err := os.WriteFile(integrations+name, want, 0o644); err != nil { //nolint:gosec // it is part of the repository
			t.Fatal(err)
		}
	}
	if got := get(t, integrations+name); !bytes.Equal(got, want) {
		t.Errorf("%s is not what 'gaffer init' writes; UPDATE_INTEGRATIONS=1 go test ./internal/byhand/agentsettings -run Integrations writes it:\n%s", name, want)
	}
}

func planned(t *testing.T, f Format, base string, entries []Entry) []byte {
	t.Helper()
	c, err := Plan(f, []byte(base), nil, entries)
	if err != nil {
		t.Fatal(err)
	}
	return c.New
}

func TestIntegrationsOfClaudeCodeAreWhatInitWrites(t *testing.T) {
	t.Parallel()
	w := shipped()
	same(t, "claude-code/hooks/hooks.json", planned(t, JSON,
		"{\n  \"description\": \"Tells gaffer what this agent does\"\n}\n", w.hooks(Claude, ClaudeEvents())))
	same(t, "claude-code/.mcp.json", planned(t, JSON, "", []Entry{w.jsonServer()}))
	for _, name := range []string{".claude-plugin/marketplace.json", "claude-code/.claude-plugin/plugin.json"} {
		var v map[string]any
		if err := json.Unmarshal(get(t, integrations+name), &v); err != nil || v["name"] != "gaffer" {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}

func TestIntegrationsOfCodexAreWhatInitWrites(t *testing.T) {
	t.Parallel()
	w := shipped()
	lines := []string{
		"# gaffer in Codex: put this into ~/.codex/config.toml, or let 'gaffer init codex' do it.", "", "[hooks]",
	}
	for _, e := range w.hooks(Codex, CodexEvents()) {
		if e.Value != nil {
			lines = append(lines, e.Path[1]+" = ["+tomlGroup(e.Value.(hookGroup))+"]")
		}
	}
	base := strings.Join(lines, "\n") + "\n"
	same(t, "codex/config.toml", planned(t, TOML, base, []Entry{w.tomlServer()}))

	text, err := parseTOML(get(t, integrations+"codex/config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	var fromJSON map[string]any
	if err := json.Unmarshal(planned(t, JSON, "", w.hooks(Codex, CodexEvents())), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if got := asJSON(t, text.root["hooks"]); !reflect.DeepEqual(got, fromJSON["hooks"]) {
		t.Errorf("the snippet has the hooks %v, want %v", got, fromJSON["hooks"])
	}
}

func tomlGroup(g hookGroup) string {
	var fields []string
	if g.Matcher != "" {
		fields = append(fields, "matcher = "+quoteTOML(g.Matcher))
	}
	for _, c := range g.Hooks {
		seconds, _ := json.Marshal(c.Timeout)
		fields = append(fields, "hooks = [{ type = "+quoteTOML(c.Type)+", command = "+quoteTOML(c.Command)+", timeout = "+string(seconds)+" }]")
	}
	return "{ " + strings.Join(fields, ", ") + " }"
}

// asJSON converts a value from a TOML parser to the types that a JSON parser uses.
func asJSON(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = asJSON(t, v[name])
		}
	case []any:
		for i := range v {
			v[i] = asJSON(t, v[i])
		}
	case int64:
		return float64(v)
	}
	return v
}

// This test only checks that the files have the parts of a command. A person tests them with the
// real programs.
func TestIntegrationsCommandsSayWhatTheyDo(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(integrations + "claude-code/commands")
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d commands, %v", len(entries), err)
	}
	for _, e := range entries {
		text := string(get(t, integrations+"claude-code/commands/"+e.Name()))
		head, body, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
		if !ok || !strings.Contains(head, "description: ") || strings.TrimSpace(body) == "" {
			t.Errorf("%s: %q", e.Name(), head)
		}
	}
}
