package agentsettings

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Program is an agent program whose settings are edited.
type Program string

// The programs.
const (
	Claude Program = "claude"
	Codex  Program = "codex"
)

// Programs lists them.
func Programs() []Program { return []Program{Claude, Codex} }

// Title is the program's name as its makers write it.
func (p Program) Title() string {
	return map[Program]string{Claude: "Claude Code", Codex: "Codex"}[p]
}

// File is a settings file and what it is to have.
type File struct {
	Path    string
	Program Program // none for the project's own files
	Format  Format
	Entries []Entry
	Perm    fs.FileMode // of a new file
	Strict  bool        // its program takes neither comments nor trailing commas
}

// Wish is what is to be set up.
type Wish struct {
	Argv       []string      // how gaffer is started
	Answer     time.Duration // how long a permission may wait for an answer from elsewhere
	Status     StatusLine    // of Claude Code
	Shell      string        // Argv as a shell reads it
	LocalState []string      // what a repository is to ignore, as lines of a .gitignore
}

// StatusLine says what becomes of Claude Code's status line.
type StatusLine int

// The choices.
const (
	StatusLineIfFree  StatusLine = iota // ours unless there is another
	StatusLineReplace                   // ours
	StatusLineLeave                     // none is added; one of ours is taken out with the rest
)

// Server is the name of gaffer's server in every program's settings.
const Server = "gaffer"

// hookTimeout is how long a program waits for a hook that decides nothing, in
// seconds. Codex clamps two of its events to less, and says so each time. Where a
// person is asked, the question is to be put and withdrawn besides. Each is longer
// than gaffer takes at the most.
const (
	hookTimeout      = 5
	askTimeout       = 10
	codexLastTimeout = 3
)

// codexToolTimeout is how long Codex waits for a tool, in seconds. Without it a
// person would have a minute to answer a question; with it they have what they have
// elsewhere, half an hour.
const codexToolTimeout = number("1800")

// ClaudeEvents are the events that gaffer is told of, in the order in which they
// are written.
func ClaudeEvents() []string {
	return []string{
		"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest",
		"Notification", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "SessionEnd",
	}
}

// CodexEvents are those of Codex.
func CodexEvents() []string {
	return []string{
		"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PreCompact",
		"Stop", "Interrupt", "SessionEnd",
	}
}

// hookGroup is one entry of an event, in the form that both programs have.
type hookGroup struct {
	Matcher string    `json:"matcher,omitempty"`
	Hooks   []command `json:"hooks"`
}

type command struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"`
}

// server is an MCP server in JSON.
type server struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// matched are the events that are about a tool and can be narrowed to some.
var matched = []string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"}

// hooks are the entries for a program's events, and those that find ours
// wherever they are.
func (w Wish) hooks(p Program, events []string) []Entry {
	var entries []Entry
	for _, event := range events {
		g := hookGroup{Hooks: []command{{Type: "command", Command: w.Shell + " hook " + string(p), Timeout: w.timeout(p, event)}}}
		if slices.Contains(matched, event) {
			g.Matcher = "*"
		}
		entries = append(entries, Entry{
			What: "hook " + event, Path: []string{"hooks", event}, Item: true, Value: g, Mine: isOurGroup(p),
		})
	}
	return append(entries,
		Entry{Path: []string{"hooks", "*"}, Item: true, Mine: isOurGroup(p)},
		Entry{Path: []string{"hooks", "*", "*", "hooks"}, Item: true, Mine: isOurHook(p)})
}

func (w Wish) timeout(p Program, event string) int {
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

// isOurGroup tells a group in which nothing is anybody else's.
func isOurGroup(p Program) func(any) bool {
	ours := isOurHook(p)
	return func(v any) bool {
		m, _ := v.(map[string]any)
		list, _ := m["hooks"].([]any)
		return len(list) > 0 && !slices.ContainsFunc(list, func(hook any) bool { return !ours(hook) })
	}
}

// isGaffer tells a command line that starts gaffer, wherever it is, with these
// words and some of these flags. One with anything else in it is somebody else's:
// a pipe, another command, a variable that is set for it.
func isGaffer(line string, words []string, flags ...string) bool {
	program, rest, ok := cutProgram(line, words...)
	for _, flag := range strings.Fields(rest) {
		ok = ok && slices.Contains(flags, flag)
	}
	return ok && isProgram(program)
}

// cutProgram parts a command line at these words, which it may end with.
func cutProgram(line string, words ...string) (program, rest string, ok bool) {
	first, rest, ok := strings.Cut(line, " "+strings.Join(words, " "))
	if !ok || rest != "" && rest[0] != ' ' {
		return "", "", false
	}
	program, ok = unquoted(first)
	return program, rest, ok
}

// unquoted is one word of a shell without the quotes around it.
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

func (w Wish) statusLine() Entry {
	e := Entry{
		What: "status line", Path: []string{"statusLine"}, Mine: isOurLine,
		Value: command{Type: "command", Command: w.Shell + " statusline --fleet"}, Force: w.Status == StatusLineReplace,
		Mend: func(line string) string {
			_, flags, _ := cutProgram(line, "statusline")
			return w.Shell + " statusline" + flags
		},
	}
	if w.Status == StatusLineLeave {
		e.Value = nil
	}
	return e
}

func (w Wish) serverArgs() []string { return append(slices.Clone(w.Argv[1:]), "mcp") }

// mendServer leaves the arguments behind "mcp", by which a server of ours is known.
func (w Wish) mendServer(string) string { return w.Argv[0] }

func (w Wish) jsonServer() Entry {
	return Entry{
		What: "MCP server", Path: []string{"mcpServers", Server}, Mine: isOurServer, Mend: w.mendServer,
		Value: server{Type: "stdio", Command: w.Argv[0], Args: w.serverArgs()},
	}
}

func (w Wish) tomlServer() Entry {
	return Entry{
		What: "MCP server", Path: []string{"mcp_servers", Server}, Mine: isOurServer, Mend: w.mendServer,
		Value: Table{{"command", w.Argv[0]}, {"args", w.serverArgs()}, {"tool_timeout_sec", codexToolTimeout}},
	}
}

const (
	forAll  fs.FileMode = 0o666 // less what the umask takes
	forSelf fs.FileMode = 0o600
)

// ClaudeFiles are Claude Code's settings in its folder, which is .claude in a
// project or home, and the file of its MCP servers.
func (w Wish) ClaudeFiles(folder, servers string, perm fs.FileMode) []File {
	return []File{
		{
			Path: filepath.Join(folder, "settings.json"), Program: Claude, Format: JSON, Perm: perm, Strict: true,
			Entries: append(w.hooks(Claude, ClaudeEvents()), w.statusLine()),
		},
		{Path: servers, Program: Claude, Format: JSON, Perm: perm, Strict: true, Entries: []Entry{w.jsonServer()}},
	}
}

// CodexFiles are Codex's settings in its folder, which is .codex in a project or
// home.
func (w Wish) CodexFiles(folder string, perm fs.FileMode) []File {
	return []File{
		{
			Path: filepath.Join(folder, "hooks.json"), Program: Codex, Format: JSON, Perm: perm, Strict: true,
			Entries: w.hooks(Codex, CodexEvents()),
		},
		{Path: filepath.Join(folder, "config.toml"), Program: Codex, Format: TOML, Perm: perm, Entries: []Entry{w.tomlServer()}},
	}
}

// ProjectFiles are the files of both programs in a project.
func (w Wish) ProjectFiles(root string, programs []Program) (files []File) {
	if slices.Contains(programs, Claude) {
		files = append(files, w.ClaudeFiles(filepath.Join(root, ".claude"), filepath.Join(root, ".mcp.json"), forAll)...)
	}
	if slices.Contains(programs, Codex) {
		files = append(files, w.CodexFiles(filepath.Join(root, ".codex"), forAll)...)
	}
	return files
}

// UserFiles are the files of both programs in a person's home. claude and codex
// are the folders that the programs have been told to use, if they have.
func (w Wish) UserFiles(home, claude, codex string, programs []Program) (files []File) {
	if slices.Contains(programs, Claude) {
		folder, servers := filepath.Join(home, ".claude"), filepath.Join(home, ".claude.json")
		if claude != "" {
			folder, servers = claude, filepath.Join(claude, ".claude.json")
		}
		files = append(files, w.ClaudeFiles(folder, servers, forSelf)...)
	}
	if slices.Contains(programs, Codex) {
		folder := filepath.Join(home, ".codex")
		if codex != "" {
			folder = codex
		}
		files = append(files, w.CodexFiles(folder, forSelf)...)
	}
	return files
}

// IgnoreFile is the project's .gitignore.
func (w Wish) IgnoreFile(root string) File {
	f := File{Path: filepath.Join(root, ".gitignore"), Format: Lines, Perm: forAll}
	for _, line := range w.LocalState {
		f.Entries = append(f.Entries, Entry{What: line, Value: line})
	}
	return f
}
