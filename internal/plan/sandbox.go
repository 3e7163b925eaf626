package plan

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// SandboxAuto makes gaffer choose the strongest sandbox in which the agent can run on its machine.
// The agent runs without a sandbox if the machine supports none, if gaffer does not know which
// files the agent's program needs, or if the task only runs a command that the plan contains.
const SandboxAuto SandboxMode = "auto"

// SandboxModes returns the valid modes, sorted from the weakest to the strongest sandbox. The last
// one is "auto", with which gaffer chooses.
func SandboxModes() []SandboxMode {
	return []SandboxMode{SandboxNone, SandboxProgram, SandboxBubblewrap, SandboxContainer, SandboxAuto}
}

// sandbox returns the type of the value of a task's key "sandbox". The value is a mode such as
// bubblewrap, or a mapping with keys such as "mode" and "network".
func sandbox() valueType[Sandbox] {
	mode, whole := choice(SandboxModes()...), nestedMapping("a sandbox", sandboxKeys(), rejected)
	s := schema{AnyOf: []schema{mode.schema, whole.schema}}
	return valueType[Sandbox]{s, func(r *reporter, name string, n *node) (Sandbox, bool) {
		if n.kind != mapping {
			m, ok := mode.read(r, name, n)
			return Sandbox{Mode: m}, ok
		}
		box, ok := whole.read(r, name, n)
		if problem := box.check(); problem != "" {
			r.report(n.position, "sandbox: %s", problem)
		}
		return box, ok
	}}
}

func sandboxKeys() []keySpec[Sandbox] {
	network := keySpec[Sandbox]{
		name: "network", doc: "which network the agent has: on (as without it), off, or a list of the only hosts that it can reach, each with a port if that is not 80 or 443",
		example: "network: [api.anthropic.com, \"*.example.com\", \"localhost:5432\"]",
	}
	words, hosts := choice(NetworkOn, NetworkOff), textList()
	network.schema = schema{AnyOf: []schema{words.schema, hosts.schema}}
	network.read = func(r *reporter, n *node, into *Sandbox) {
		if n.kind != list {
			into.Network, _ = words.read(r, "network", n)
			into.Hosts = nil
			return
		}
		into.Network = NetworkList
		into.Hosts, _ = hosts.read(r, "network", n)
	}
	return []keySpec[Sandbox]{
		newKey("mode", choice(SandboxModes()...), func(s *Sandbox) *SandboxMode { return &s.Mode },
			"the kind of sandbox: none, program (the agent program's own), bubblewrap, container, or auto, the strongest that the machine has", "mode: bubblewrap").require(),
		network,
		newKey("write", textOrList(), func(s *Sandbox) *[]string { return &s.Write },
			"further folders that the agent may write to, absolute or from ~/", "write: [/srv/cache]"),
		newKey("read", textOrList(), func(s *Sandbox) *[]string { return &s.Read },
			"further folders that the agent may read, absolute or from ~/: most of the home folder is hidden; folders with credentials stay hidden", "read: [~/.m2]"),
		newKey("image", text(), func(s *Sandbox) *string { return &s.Image },
			"the image of the container; it must contain the agent program", "image: registry.example/agents:1"),
	}
}

// check returns what is wrong with a sandbox, or "" if it is valid.
func (s Sandbox) check() string {
	switch {
	case s.Mode != "" && !slices.Contains(SandboxModes(), s.Mode):
		return "mode: found " + shortQuote(string(s.Mode)) + ", want none, program, bubblewrap, container or auto"
	case !slices.Contains([]Network{"", NetworkOn, NetworkOff, NetworkList}, s.Network):
		return "network: found " + shortQuote(string(s.Network)) + ", want on, off or a list of hosts"
	case s.Network == NetworkList && len(s.Hosts) == 0:
		return "network: found an empty list, want hosts, or off"
	case s.Network != NetworkList && len(s.Hosts) > 0:
		return "network: found hosts, but no list"
	case strings.HasPrefix(s.Image, "-") || strings.ContainsAny(s.Image, " \n\t\x00"):
		return "image: found " + shortQuote(s.Image) + ", want the name of an image"
	}
	for _, host := range s.Hosts {
		if host == "" || strings.ContainsAny(host, "/@ \n\t\x00") {
			return "network: found " + shortQuote(host) + ", want hosts such as api.example.com or localhost:8080"
		}
	}
	for _, folder := range slices.Concat(s.Write, s.Read) {
		if !filepath.IsAbs(folder) && folder != "~" && !strings.HasPrefix(folder, "~/") || strings.ContainsAny(folder, "\n\x00") {
			return "write or read: found " + shortQuote(folder) + ", want an absolute path, or one from ~/"
		}
	}
	return ""
}

func shortQuote(s string) string { return fmt.Sprintf("%.60q", s) }

// yamlSandbox returns a sandbox as the value of a yamlPair. If only the mode is set, the value is
// the mode as a string. Otherwise it is a []yamlPair.
func yamlSandbox(s Sandbox) any {
	if s.Network == "" && len(s.Write)+len(s.Read) == 0 && s.Image == "" {
		return string(s.Mode)
	}
	var network any = string(s.Network)
	if s.Network == NetworkList {
		network = s.Hosts
	}
	return []yamlPair{{"mode", string(s.Mode)}, {"network", network}, {"write", s.Write}, {"read", s.Read}, {"image", s.Image}}
}
