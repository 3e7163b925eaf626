package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestASandboxIsAModeOrAMapping(t *testing.T) {
	for text, want := range map[string]Sandbox{
		"bubblewrap":                       {Mode: SandboxBubblewrap},
		"auto":                             {Mode: SandboxAuto},
		"{mode: none}":                     {Mode: SandboxNone},
		"{mode: bubblewrap, network: off}": {Mode: SandboxBubblewrap, Network: NetworkOff},
		"{mode: bubblewrap, network: on}":  {Mode: SandboxBubblewrap, Network: NetworkOn},
		`{mode: bubblewrap, network: ["a.b:80"]}`:   {Mode: SandboxBubblewrap, Network: NetworkList, Hosts: []string{"a.b:80"}},
		"{mode: program, write: /srv, read: [~/x]}": {Mode: SandboxProgram, Write: []string{"/srv"}, Read: []string{"~/x"}},
		"{mode: container, image: a/b:1}":           {Mode: SandboxContainer, Image: "a/b:1"},
	} {
		p, err := Parse(nil, []byte("tasks:\n  - {id: a, prompt: x, sandbox: "+text+"}\n"), Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if d := cmp.Diff(want, p.Tasks[0].Sandbox); d != "" {
			t.Errorf("%s: %s", text, d)
		}
		again, written := reread(t, p)
		if d := cmp.Diff(bare(p), bare(again)); d != "" {
			t.Errorf("%s: written as\n%sand read again: %s", text, written, d)
		}
	}
}

func TestATasksSandboxReplacesThatOfTheDefaults(t *testing.T) {
	p, err := Parse(nil, []byte("defaults: {sandbox: {mode: bubblewrap, network: off}}\ntasks:\n  - {id: a, prompt: x}\n  - {id: b, prompt: x, sandbox: none}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := p.Tasks[0].Sandbox, p.Tasks[1].Sandbox; a.Network != NetworkOff || b.Mode != SandboxNone || b.Network != "" {
		t.Errorf("found %+v and %+v", a, b)
	}
}

func TestASandboxThatCannotWorkIsAProblem(t *testing.T) {
	for text, want := range map[string]string{
		"jail":                                   "want none, program, bubblewrap, container or auto",
		"{network: off}":                         "mode",
		"{mode: bubblewrap, network: []}":        "found an empty list",
		"{mode: bubblewrap, network: maybe}":     "network",
		"{mode: bubblewrap, network: [a/b]}":     "want hosts such as",
		"{mode: bubblewrap, write: [data]}":      "want an absolute path",
		"{mode: container, image: --privileged}": "want the name of an image",
		"{mode: bubblewrap, networks: off}":      "networks",
	} {
		_, err := Parse(nil, []byte("tasks:\n  - {id: a, prompt: x, sandbox: "+text+"}\n"), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found %v, want %q", text, err, want)
		}
	}
	sent := Plan{Tasks: []Task{{ID: "a", Prompt: "x", Sandbox: Sandbox{Mode: "jail"}}}}
	if err := sent.Check(); err == nil || !strings.Contains(err.Error(), "jail") {
		t.Errorf("a plan from a client: %v", err)
	}
}
