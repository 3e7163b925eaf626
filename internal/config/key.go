package config

import (
	"strings"
	"time"
)

// Key describes one setting.
type Key struct {
	Name    string
	Kind    Kind
	Default string
	// Flag is the name of the command-line flag for this key alone, or empty if there is none. The
	// general flag --set can set every key.
	Flag    string
	Doc     string // description in one line, without a full stop
	Example string
	// Choices are the allowed values of a key of kind Choice, or the allowed items of a key of kind
	// List. If Choices is empty, a List may have any items.
	Choices []string
	// Own means that a project's file must not set the key. Otherwise a project from somebody else
	// could run programs, send data elsewhere, or answer questions for the user.
	Own   bool
	Min   int // minimum of a value of kind Number
	Max   int
	Least time.Duration // minimum of a value of kind Duration
	Most  time.Duration // maximum of a value of kind Duration; 0 means no maximum
}

// keys lists all settings, except those of a team's roles (see [RoleKeys]).
var keys = []Key{
	{
		Name: "paths.session", Kind: Path, Default: ".founder-mode/status",
		Doc: "where session status lives", Example: ".agents/status",
	},
	{
		Name: "paths.workflow", Kind: Path, Default: ".fctry",
		Doc: "where workflow state lives", Example: "spec/.fctry",
	},
	{
		Name: "paths.team", Kind: Path, Default: "coordination",
		Doc: "where team state and messages live", Example: "/var/lib/fleet/coordination",
	},
	{
		Name: "paths.ledger", Kind: Path, Default: "state",
		Doc: "where run and result records live", Example: "records",
	},
	{
		Name: "db", Kind: Database, Default: "auto", Flag: "db", Own: true,
		Doc: "the database of runs, a file or postgres://…; auto is one for all of your projects", Example: "postgres://gaffer@db/fleet",
	},
	{
		Name: "project_name", Kind: Text, Default: "auto",
		Doc: "the project's name on a server; auto is that of the root's folder", Example: "web",
	},
	{
		Name: "server", Kind: Server, Default: "none", Own: true,
		Doc: "the coordinator that is asked about runs; none is this machine", Example: "https://build.example:4870",
	},
	{
		Name: "server_ca", Kind: File, Default: "none", Own: true,
		Doc: "the certificates that the server's must come from, a file", Example: "/etc/fleet/ca.pem",
	},
	{
		Name: "server_fingerprint", Kind: Text, Default: "none", Own: true,
		Doc: "the SHA-256 of the server's own certificate, as 'gaffer serve --tls' prints it", Example: "2F:91:(and so on)",
	},
	{
		Name: "worker.allow", Kind: List, Default: "[]", Own: true,
		Doc: "the agents whose tasks 'gaffer worker' takes: a JSON list; an empty one is all", Example: `["claude", "codex"]`,
	},
	{
		Name: "permissions.allow", Kind: List, Default: "[]", Own: true,
		Doc: "rules for requests of agents that are allowed in every run you start: one, or a JSON list", Example: `["Bash(go test:*)", "Edit(src/**)"]`,
	},
	{
		Name: "permissions.deny", Kind: List, Default: "[]", Own: true,
		Doc: "rules for requests of agents that are denied, whatever other rules say: one, or a JSON list", Example: `["Bash(git push:*)"]`,
	},
	{
		Name: "permissions.ask", Kind: List, Default: "[]", Own: true,
		Doc: "rules for requests of agents that you are asked about, although another rule allows them: one, or a JSON list", Example: `["WebFetch"]`,
	},
	{
		Name: "sandbox", Kind: Choice, Default: "auto", Own: true,
		Doc: "the weakest sandbox for agents: a plan may choose a stronger one; auto leaves it to the plan, and is the strongest that the machine has where nobody answers the agents", Example: "bubblewrap",
		Choices: []string{"auto", "none", "program", "bubblewrap", "container"},
	},
	{
		Name: "sandbox_image", Kind: Text, Default: none, Own: true,
		Doc: "the image of containers for agents whose plan names none; it must contain the agent program", Example: "registry.example/agents:1",
	},
	{
		Name: "lock_timeout", Kind: Duration, Least: time.Millisecond, Default: "30s",
		Doc: "how long a writer waits for a document's lock", Example: "5s",
	},
	{
		Name: "team.mode", Kind: Choice, Default: "auto",
		Doc: "how a team works; auto leaves it to the project manager", Example: "parallel",
		Choices: []string{"auto", "simple", "parallel"},
	},
	{
		Name: "team.developers", Kind: Number, Min: 1, Max: 4, Default: "4",
		Doc: "how many developers of a team work at the same time, 1 to 4", Example: "2",
	},
	{
		Name: "team.iterations", Kind: Number, Min: 1, Max: 1000, Default: "30",
		Doc: "how many agents may be started for one group before the user must look", Example: "50",
	},
	{
		Name: "team.tests", Kind: List, Default: "[]",
		Doc: "shell commands that must succeed after each merge: one, or a JSON list", Example: `["go vet ./...", "go test ./..."]`,
	},
	{
		Name: "team.tests_timeout", Kind: Duration, Least: time.Millisecond, Default: "30m",
		Doc: "how long a merge of a team may take with its tests", Example: "2h",
	},
	{
		Name: "budget.day", Kind: Money, Default: none, Own: true,
		Doc: "what all agents may cost in a day, in USD: at this limit no agent starts until midnight", Example: "20",
	},
	{
		Name: "budget.month", Kind: Money, Default: none, Own: true,
		Doc: "what all agents may cost in a month, in USD", Example: "300",
	},
	{
		Name: "notify.events", Kind: List, Default: joinList(notices()),
		Doc: "the events that cause a notification: one of them, or a JSON list", Example: `["waiting", "failed"]`,
		Choices: notices(),
	},
	{
		Name: "notify.desktop", Kind: Choice, Default: "auto",
		Doc: "tell on this machine's screen; auto is if there is one", Example: "never",
		Choices: []string{"auto", "never"},
	},
	{
		Name: "notify.webhook", Kind: URL, Default: none, Own: true,
		Doc: "the address that receives notifications by HTTP", Example: "https://hooks.example/gaffer",
	},
	{
		Name: "notify.webhook_secret_file", Kind: File, Default: none, Own: true,
		Doc: "the file with the secret that signs webhook requests, an absolute path", Example: "/home/ada/.config/gaffer/webhook-secret",
	},
	{
		Name: "notify.command", Kind: List, Default: "[]", Own: true,
		Doc: "the program that is run for a notification, with its arguments: a JSON list", Example: `["/usr/local/bin/page-me", "--urgent"]`,
	},
	{
		Name: "notify.quiet", Kind: Hours, Default: none,
		Doc: "quiet hours, in local time: notifications wait until they are over", Example: "22:00-07:00",
	},
	{
		Name: "notify.quiet_questions", Kind: Choice, Default: "true",
		Doc: "whether that holds for questions too", Example: "false",
		Choices: []string{"true", "false"},
	},
	{
		Name: "notify.report", Kind: Clock, Default: none,
		Doc: "when 'gaffer serve' sends the morning report, in local time", Example: "07:00",
	},
	{
		Name: "notify.burst", Kind: Number, Min: 1, Max: 1000, Default: "10",
		Doc: "how many notifications are sent one by one in a minute; more become one", Example: "3",
	},
	{
		Name: "hooks.answer_within", Kind: Duration, Most: 24 * time.Hour, Default: "0s", Own: true,
		Doc: "how long an agent that you start by hand waits for an answer from elsewhere before it asks at its own prompt; 0s is not at all", Example: "2m",
	},
	{
		Name: "hooks.share", Kind: Choice, Default: "true", Own: true,
		Doc: "whether serve and worker report agents that you start by hand, and their folders, to the fleet", Example: "false",
		Choices: []string{"true", "false"},
	},
	{
		Name: "color", Kind: Choice, Default: "auto", Flag: "color",
		Doc: "when to use colour", Example: "never",
		Choices: []string{"auto", "always", "never"},
	},
}

// notices returns the kinds of notifications that users can turn on.
func notices() []string { return []string{"waiting", "failed", "offline", "finished", "budget"} }

// Keys returns all settings in the order in which they are displayed, except the settings of a
// team's roles, which [RoleKeys] returns.
func Keys() []Key { return append([]Key(nil), keys...) }

// Names returns the names of all settings, including the settings of a team's roles.
func Names() []string {
	var names []string
	for _, k := range allKeys() {
		names = append(names, k.Name)
	}
	return names
}

func allKeys() []Key { return append(Keys(), roleKeys()...) }

// Env returns the name of the environment variable that sets the key: for example
// GAFFER_PATHS_TEAM for the key paths.team.
func (k Key) Env() string {
	return "GAFFER_" + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// Usage returns the description of the key. If only certain values are allowed, it lists them.
func (k Key) Usage() string {
	if len(k.Choices) > 0 {
		return k.Doc + ": " + orList(k.Choices)
	}
	return k.Doc
}

func lookup(name string) (Key, bool) {
	all := keys
	if isRoleKey(name) {
		all = roleKeys()
	}
	for _, k := range all {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// isSection reports whether name is a section: whether the names of some keys begin with name and a
// dot. For example, "paths" is the section of the key paths.team.
func isSection(name string) bool {
	for _, k := range allKeys() {
		if strings.HasPrefix(k.Name, name+".") {
			return true
		}
	}
	return false
}
