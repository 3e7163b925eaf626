package agentsettings

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Program is an agent program whose settings gaffer edits.
type Program string

// The programs whose settings gaffer edits.
const (
	Claude Program = "claude"
	Codex  Program = "codex"
)

// Programs returns the programs whose settings gaffer edits.
func Programs() []Program { return []Program{Claude, Codex} }

// Title returns the program's official name.
func (p Program) Title() string {
	return map[Program]string{Claude: "Claude Code", Codex: "Codex"}[p]
}

// File is a settings file and the entries that it should have.
type File struct {
	Path    string
	Program Program // the program that reads the file; empty for the project's own files
	Format  Format
	Entries []Entry
	Perm    fs.FileMode // permissions that the file gets if it is created
	Strict  bool        // the program accepts neither comments nor trailing commas in this file
}

// Integration says how to connect agent programs with gaffer.
type Integration struct {
	Argv       []string      // command line that starts gaffer
	Answer     time.Duration // how long a permission request may wait for the user's answer
	Status     StatusLine    // whether to set Claude Code's status line
	Shell      string        // Argv as one text, quoted for a shell
	LocalState []string      // lines that the repository's .gitignore should have
}

// StatusLine says what to do with Claude Code's status line.
type StatusLine int

// The choices for the status line.
const (
	StatusLineIfFree  StatusLine = iota // set gaffer's status line, unless another status line is set
	StatusLineReplace                   // set gaffer's status line, even if another status line is set
	// StatusLineLeave sets no status line, and removes gaffer's own.
	StatusLineLeave
)

// Server is the name of gaffer's MCP server in every program's settings.
const Server = "gaffer"

// Timeouts of hooks in the settings of agent programs, in seconds. Each is longer than gaffer's own
// time limit for the hook.
const (
	// hookTimeout is the timeout of hooks. Other timeouts apply to permission requests, and to the
	// events Interrupt and SessionEnd of Codex.
	hookTimeout = 5
	// askTimeout is added to [Integration.Answer] for the timeout of permission requests. In this
	// additional time, gaffer stores the question and later withdraws it.
	askTimeout = 10
	// codexLastTimeout is for the events Interrupt and SessionEnd of Codex. Codex shortens a longer
	// timeout for them and prints a warning.
	codexLastTimeout = 3
)

// codexToolTimeout is how long Codex waits for an MCP tool, in seconds. Codex's default would give
// the user one minute to answer a question. gaffer's tool that asks the user waits half an hour by
// default, so this is half an hour, too.
const codexToolTimeout = int64(1800)

// ClaudeEvents returns the events of Claude Code that call gaffer's hook, in the order in which
// gaffer writes them to the settings file.
func ClaudeEvents() []string {
	return []string{
		"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest",
		"Notification", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "SessionEnd",
	}
}

// CodexEvents returns the events of Codex that call gaffer's hook.
func CodexEvents() []string {
	return []string{
		"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PreCompact",
		"Stop", "Interrupt", "SessionEnd",
	}
}

// hookGroup is one item in the list of an event's hooks, in the format of Claude Code and Codex.
type hookGroup struct {
	Matcher string    `json:"matcher,omitempty"`
	Hooks   []command `json:"hooks"`
}

type command struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"`
}

// server is the JSON form of an MCP server in a settings file.
type server struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// toolEvents lists the events about tools. A hook for such an event may have a matcher, which
// selects tools by name.
var toolEvents = []string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"}

// hooks returns the settings entries for gaffer's hooks in a program. It returns an entry for each
// event, and two entries without a Value, which only find outdated hooks of gaffer to remove. The
// first of the two finds hooks for other events. The second finds hooks that are in one group with
// hooks of other programs.
func (w Integration) hooks(p Program, events []string) []Entry {
	var entries []Entry
	for _, event := range events {
		g := hookGroup{Hooks: []command{{Type: "command", Command: w.Shell + " hook " + string(p), Timeout: w.timeout(p, event)}}}
		if slices.Contains(toolEvents, event) {
			g.Matcher = "*"
		}
		entries = append(entries, Entry{
			What: "hook " + event, Path: []string{"hooks", event}, Item: true, Value: g, IsOurs: isOurGroup(p),
		})
	}
	return append(entries,
		Entry{Path: []string{"hooks", "*"}, Item: true, IsOurs: isOurGroup(p)},
		Entry{Path: []string{"hooks", "*", "*", "hooks"}, Item: true, IsOurs: isOurHook(p)})
}

func (w Integration) timeout(p Program, event string) int {
	switch {
	case event == "PermissionRequest":
		return int((w.Answer+time.Second-1)/time.Second) + askTimeout
	case p == Codex && (event == "Interrupt" || event == "SessionEnd"):
		return codexLastTimeout
	}
	return hookTimeout
}

func isOurHook(p Program) func(any) bool {
	return func(v any) bool {
		m, _ := v.(map[string]any)
		line, _ := m["command"].(string)
		return isGaffer(line, []string{"hook", string(p)})
	}
}

// isOurGroup returns a function that reports whether its argument, a decoded hookGroup, contains
// only hooks of gaffer.
func isOurGroup(p Program) func(any) bool {
	ours := isOurHook(p)
	return func(v any) bool {
		m, _ := v.(map[string]any)
		list, _ := m["hooks"].([]any)
		return len(list) > 0 && !slices.ContainsFunc(list, func(hook any) bool { return !ours(hook) })
	}
}

// isGaffer reports whether a command line starts gaffer, from any folder, with the given words and
// with no flags except the given flags. It returns false for a line that contains anything else,
// such as a pipe or a second command, because the user has written that line.
func isGaffer(line string, words []string, flags ...string) bool {
	program, rest, ok := cutProgram(line, words...)
	for _, flag := range strings.Fields(rest) {
		ok = ok && slices.Contains(flags, flag)
	}
	return ok && isProgram(program)
}

// cutProgram splits a command line at the given words, into the program before them and the rest
// after them. ok is false if the line does not have the words, or if the text before them is not
// one shell word.
func cutProgram(line string, words ...string) (program, rest string, ok bool) {
	first, rest, ok := strings.Cut(line, " "+strings.Join(words, " "))
	if !ok || rest != "" && rest[0] != ' ' {
		return "", "", false
	}
	program, ok = unquoted(first)
	return program, rest, ok
}

// unquoted returns a shell word without its quotes. It returns false if the text is not one shell
// word.
func unquoted(word string) (string, bool) {
	for _, quote := range []string{"'", `"`} {
		if inner, ok := strings.CutPrefix(word, quote); ok {
			inner, ok = strings.CutSuffix(inner, quote)
			return inner, ok && !strings.Contains(strings.ReplaceAll(inner, `'\''`, ""), quote)
		}
	}
	return word, !strings.ContainsAny(word, " \t\n;|&()<>")
}

func isProgram(path string) bool { return path == "gaffer" || strings.HasSuffix(path, "/gaffer") }

func isOurLine(v any) bool {
	m, _ := v.(map[string]any)
	line, _ := m["command"].(string)
	return isGaffer(line, []string{"statusline"}, "--fleet", "--all", "-a")
}

func isOurServer(v any) bool {
	m, _ := v.(map[string]any)
	program, _ := m["command"].(string)
	args, _ := m["args"].([]any)
	return isProgram(program) && len(args) > 0 && args[0] == "mcp"
}

func (w Integration) statusLine() Entry {
	e := Entry{
		What: "status line", Path: []string{"statusLine"}, IsOurs: isOurLine,
		Value: command{Type: "command", Command: w.Shell + " statusline --fleet"}, Force: w.Status == StatusLineReplace,
		FixCommand: func(line string) string {
			_, flags, _ := cutProgram(line, "statusline")
			return w.Shell + " statusline" + flags
		},
	}
	if w.Status == StatusLineLeave {
		e.Value = nil
	}
	return e
}

func (w Integration) serverArgs() []string { return append(slices.Clone(w.Argv[1:]), "mcp") }

// fixServerCommand returns gaffer's current path as the command of an MCP server. The arguments of
// the server stay, because the user may have extended them. It must be called only for a server
// whose command is gaffer and whose first argument is "mcp".
func (w Integration) fixServerCommand(string) string { return w.Argv[0] }

func (w Integration) jsonServer() Entry {
	return Entry{
		What: "MCP server", Path: []string{"mcpServers", Server}, IsOurs: isOurServer, FixCommand: w.fixServerCommand,
		Value: server{Type: "stdio", Command: w.Argv[0], Args: w.serverArgs()},
	}
}

func (w Integration) tomlServer() Entry {
	return Entry{
		What: "MCP server", Path: []string{"mcp_servers", Server}, IsOurs: isOurServer, FixCommand: w.fixServerCommand,
		Value: Table{{"command", w.Argv[0]}, {"args", w.serverArgs()}, {"tool_timeout_sec", codexToolTimeout}},
	}
}

const (
	permAll   fs.FileMode = 0o666 // permissions before the umask is applied
	permOwner fs.FileMode = 0o600
)

// ClaudeFiles returns two files of Claude Code: the settings file in folder, and the file of MCP
// servers, whose path is servers. folder is a configuration folder of Claude Code, such as .claude
// in a project.
func (w Integration) ClaudeFiles(folder, servers string, perm fs.FileMode) []File {
	return []File{
		{
			Path: filepath.Join(folder, "settings.json"), Program: Claude, Format: JSON, Perm: perm, Strict: true,
			Entries: append(w.hooks(Claude, ClaudeEvents()), w.statusLine()),
		},
		{Path: servers, Program: Claude, Format: JSON, Perm: perm, Strict: true, Entries: []Entry{w.jsonServer()}},
	}
}

// CodexFiles returns Codex's settings files in folder, which is a configuration folder of Codex,
// such as .codex in a project.
func (w Integration) CodexFiles(folder string, perm fs.FileMode) []File {
	return []File{
		{
			Path: filepath.Join(folder, "hooks.json"), Program: Codex, Format: JSON, Perm: perm, Strict: true,
			Entries: w.hooks(Codex, CodexEvents()),
		},
		{Path: filepath.Join(folder, "config.toml"), Program: Codex, Format: TOML, Perm: perm, Entries: []Entry{w.tomlServer()}},
	}
}

// ProjectFiles returns the settings files that the programs have in a project.
func (w Integration) ProjectFiles(root string, programs []Program) (files []File) {
	if slices.Contains(programs, Claude) {
		files = append(files, w.ClaudeFiles(filepath.Join(root, ".claude"), filepath.Join(root, ".mcp.json"), permAll)...)
	}
	if slices.Contains(programs, Codex) {
		files = append(files, w.CodexFiles(filepath.Join(root, ".codex"), permAll)...)
	}
	return files
}

// UserFiles returns the programs' settings files for all projects of the user. claude and codex are
// the configuration folders that the user has chosen for these programs; empty means the default
// folder in home.
func (w Integration) UserFiles(home, claude, codex string, programs []Program) (files []File) {
	if slices.Contains(programs, Claude) {
		folder, servers := filepath.Join(home, ".claude"), filepath.Join(home, ".claude.json")
		if claude != "" {
			folder, servers = claude, filepath.Join(claude, ".claude.json")
		}
		files = append(files, w.ClaudeFiles(folder, servers, permOwner)...)
	}
	if slices.Contains(programs, Codex) {
		folder := filepath.Join(home, ".codex")
		if codex != "" {
			folder = codex
		}
		files = append(files, w.CodexFiles(folder, permOwner)...)
	}
	return files
}

// IgnoreFile returns the project's .gitignore with the lines that it should have.
func (w Integration) IgnoreFile(root string) File {
	f := File{Path: filepath.Join(root, ".gitignore"), Format: Lines, Perm: permAll}
	for _, line := range w.LocalState {
		f.Entries = append(f.Entries, Entry{What: line, Value: line})
	}
	return f
}
