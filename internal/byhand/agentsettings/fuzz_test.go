package agentsettings

import (
	"bytes"
	"testing"
)

func FuzzUndoRestoresJSON(f *testing.F) {
	seed(f, JSON)
	for _, text := range []string{"{}", "\v", "{\"a\": 10e700}", "{\"a\":[1,{}]}", "// c\n{\"hooks\":{\"Stop\":[],},}", "{ \"a\": 1 // x\n}", "{\"statusLine\": {\"command\": \"gaffer statusline\"}, // x\n}", "{\"hooks\": {}, \"statusLine\": {\"command\": \"/x/gaffer statusline -a\", \"padding\": 1}}"} {
		f.Add([]byte(text))
	}
	entries := wish().ClaudeFiles("/p", "/q", permAll)[0].Entries
	f.Fuzz(func(t *testing.T, old []byte) { checkPlan(t, JSON, old, entries) })
}

func FuzzUndoRestoresTOML(f *testing.F) {
	seed(f, TOML)
	for _, text := range []string{"", "a=1", "[mcp_servers]\ngaffer = {command='gaffer',args=['mcp']}\n", "mcp_servers.gaffer.command = 'gaffer'\nmcp_servers.gaffer.args = ['mcp']", "mcp_servers={gaffer.command='gaffer',gaffer.args=['mcp'],b=1}", "[mcp_servers.gaffer]\ncommand='/x/gaffer'\nargs=['mcp','-v']\n[mcp_servers.gaffer.env]\na='b'\n"} {
		f.Add([]byte(text))
	}
	entries := wish().CodexFiles("/p", permAll)[1].Entries
	f.Fuzz(func(t *testing.T, old []byte) { checkPlan(t, TOML, old, entries) })
}

func seed(f *testing.F, format Format) {
	t := &testing.T{}
	for name, data := range examples(t) {
		if theFile(t, wish(), "/p", name).Format == format {
			f.Add(data)
		}
	}
}

// checkPlan plans the edit of a file, and checks what must hold for every plan.
func checkPlan(t *testing.T, format Format, old []byte, entries []Entry) {
	c, err := Plan(format, old, nil, entries)
	if err != nil {
		if _, ok := err.(interface{ Invalid() bool }); !ok {
			t.Fatalf("%q: %v", old, err)
		}
		return
	}
	clean, err := Strip(format, old, entries, nil)
	if err != nil {
		t.Fatalf("%q: strip: %v", old, err)
	}
	if c.Splices != nil && !bytes.Equal(reverse(c.New, c.Splices), clean) {
		t.Fatalf("%q came back as %q", old, reverse(c.New, c.Splices))
	}
	again, err := Plan(format, c.New, nil, entries)
	if err != nil || !bytes.Equal(again.New, c.New) {
		t.Fatalf("%q: a second time: %v, %q", c.New, err, again.New)
	}
	bare, err := Strip(format, c.New, entries, nil)
	if err != nil {
		t.Fatalf("%q: strip: %v", c.New, err)
	}
	if !contains(decode(t, format, bare), prune(decode(t, format, clean))) {
		t.Fatalf("%q lost something of %q", bare, clean)
	}
	if !contains(decode(t, format, c.New), decode(t, format, clean)) {
		t.Fatalf("%q has not all of %q", c.New, clean)
	}
	if twice, err := Strip(format, bare, entries, nil); err != nil || !bytes.Equal(twice, bare) {
		t.Fatalf("%q: strip twice: %v, %q", bare, err, twice)
	}
}
