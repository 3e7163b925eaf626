package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/statefile/lazyregexp"
)

// agentFolder is a folder in which an agent program keeps its settings, logins and conversations.
// Inside a sandbox, the program can change only the entries of the folder that are listed as
// writable. It can read its settings. Everything else that it creates in the folder is lost. So an
// agent cannot add to its settings a hook or an MCP server that would later run outside of the
// sandbox.
type agentFolder struct {
	path string
	// settings has patterns for the names of entries that the program can read but not change. If
	// it is empty, these are all entries that are in no other list.
	settings []string
	writable []string // names of entries that the program can change
	create   []string // writable entries that are created if they are missing
	// hidden has patterns for the names of entries that the program does not see. The program may
	// create entries with these names; they are lost when it ends.
	hidden []string
	copied []string // paths of files that the program rewrites; it gets a copy of each, and its changes are lost
}

// agentFolders returns the folders in which an agent program of this kind keeps its files. work is
// the folder that the agent works in.
func agentFolders(kind string, env []string, home, work string) []agentFolder {
	switch kind {
	case "claude":
		dir, settings := filepath.Join(home, ".claude"), filepath.Join(home, ".claude.json")
		if own := lookup(env, "CLAUDE_CONFIG_DIR"); own != "" {
			dir, settings = own, filepath.Join(own, ".claude.json")
		}
		f := agentFolder{path: dir, writable: []string{".credentials.json"}, hidden: []string{"projects", "todos", "sessions", "history.jsonl", "shell-snapshots", "session-env", "file-history", "tasks", "statsig", "debug", "backups", "*.lock"}, copied: []string{settings}}
		f.create = []string{filepath.Join("projects", claudeProject(work))}
		return []agentFolder{f}
	case "codex":
		dir := cmp.Or(lookup(env, "CODEX_HOME"), filepath.Join(home, ".codex"))
		// Codex keeps locks, caches and databases beside its settings, and each version adds
		// others. It does not start if one of them is read-only. So only its settings are shown.
		settings := []string{"*.toml", "*.md", "*.json", "prompts", "rules", "skills", "plugins", "hooks", "agents", "themes", "memories", ".env"}
		return []agentFolder{{
			path: dir, settings: settings, writable: []string{"auth.json"}, create: []string{"sessions"},
			hidden: []string{"models_cache.json", "version.json", ".codex-global-state.json"},
		}}
	case "gemini":
		return []agentFolder{{path: filepath.Join(home, ".gemini"), writable: []string{"oauth_creds.json"}, create: []string{"tmp"}, hidden: []string{"history"}}}
	case "opencode":
		config := cmp.Or(lookup(env, "XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
		data := cmp.Or(lookup(env, "XDG_DATA_HOME"), filepath.Join(home, ".local/share"))
		return []agentFolder{{path: filepath.Join(config, "opencode")}, {path: filepath.Join(data, "opencode"), writable: []string{"auth.json"}, create: []string{"storage", "snapshot"}, hidden: []string{"log"}}}
	}
	return nil
}

// notInNames matches the characters that Claude Code replaces in the name of a project's folder.
var notInNames = lazyregexp.New(`[^A-Za-z0-9]`)

// claudeProject returns the name of the folder in which Claude Code keeps the conversations that
// began in the folder work.
func claudeProject(work string) string { return notInNames().ReplaceAllString(work, "-") }

// agentFiles adds the agent program's own folders to the sandbox. If an entry of agentFolder.create
// is missing, agentFiles creates it on the machine, outside of the sandbox.
func (l *layout) agentFiles(kind string, c Command, work string) error {
	for _, f := range agentFolders(kind, c.Env, l.home, work) {
		if !filepath.IsAbs(f.path) {
			continue
		}
		dir := realPath(f.path)
		if !within(dir, l.home) && exists(dir) {
			l.add(empty, dir)
		}
		entries, _ := os.ReadDir(dir) // a missing folder has no entries
		for _, e := range entries {
			switch name := e.Name(); {
			case slices.Contains(f.writable, name):
				l.addIfThere(writable, filepath.Join(dir, name))
			case slices.Contains(f.create, name), matchesAny(f.hidden, name), slices.Contains(f.copied, filepath.Join(f.path, name)):
			case len(f.settings) == 0, matchesAny(f.settings, name):
				l.addIfThere(readOnly, filepath.Join(dir, name))
			}
		}
		for _, name := range f.create {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(path, 0o700); err != nil {
				return fmt.Errorf("sandbox: %w", err)
			}
			l.add(writable, path)
		}
		for _, file := range f.copied {
			if exists(file) {
				l.copies = append(l.copies, copied{realPath(file), file})
			}
		}
	}
	return nil
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		match, _ := filepath.Match(pattern, name) // cannot fail: all patterns are valid constants
		return match
	})
}

// secretName matches the names of environment variables that look like credentials.
var secretName = lazyregexp.New(`(?i)TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|(^|_)(KEY|PAT|AUTH|COOKIE|DSN|PWD)$|(DATABASE|REDIS|MONGO\w*|POSTGRES\w*|AMQP|BROKER)_UR[LI]`)

// urlWithPassword matches a URL that contains a password.
var urlWithPassword = lazyregexp.New(`^[a-zA-Z][\w+.-]*://[^/@\s]*:[^/@\s]+@`)

// sockets are names of environment variables that a sandbox removes. Most of them lead to sockets
// or files through which the agent could reach other programs of the user. The variables in the
// last line of the list contain the paths of folders that the sandbox replaces with folders of its
// own.
var sockets = []string{
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GNUPGHOME", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
	"XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONFIG", "CONTAINER_HOST", "KUBECONFIG", "TMUX", "TMUX_PANE", "STY", "VSCODE_IPC_HOOK_CLI", "GIT_ASKPASS", "SSH_ASKPASS", "NETRC",
	"TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME", "XDG_STATE_HOME",
}

// ownPrefixes returns prefixes for the names of environment variables that agent programs of this
// kind read. A sandbox keeps these variables even if they look like credentials.
func ownPrefixes(kind string, env []string) []string {
	switch kind {
	case "claude":
		list := []string{"ANTHROPIC_", "CLAUDE_"}
		if lookup(env, "CLAUDE_CODE_USE_BEDROCK") != "" {
			list = append(list, "AWS_")
		}
		if lookup(env, "CLAUDE_CODE_USE_VERTEX") != "" {
			list = append(list, "GOOGLE_", "CLOUD_ML_", "VERTEX_")
		}
		return list
	case "codex":
		return append([]string{"CODEX_", "OPENAI_"}, codexKeys(env)...)
	case "gemini":
		return []string{"GEMINI_", "GOOGLE_"}
	case "opencode":
		return []string{"OPENCODE_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "OPENROUTER_", "GROQ_", "MISTRAL_", "XAI_", "DEEPSEEK_"}
	}
	return nil
}

var envKey = lazyregexp.New(`(?m)^\s*env_key\s*=\s*"([A-Za-z0-9_]+)"`)

// codexKeys returns the names of the environment variables that contain API keys for the models
// that Codex uses. The settings of Codex list these names.
func codexKeys(env []string) (names []string) {
	dir := cmp.Or(lookup(env, "CODEX_HOME"), filepath.Join(lookup(env, "HOME"), ".codex"))
	text, _ := os.ReadFile(filepath.Join(dir, "config.toml")) // ignore the error: a missing file lists no names
	for _, m := range envKey().FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	return names
}

// environment returns the environment of a program in a sandbox. For each variable, the first of
// these rules that applies decides:
//   - A variable that the user has set for this program is kept.
//   - A GAFFER_ variable is kept if it does not contain a URL with a password.
//   - A variable that is listed in sockets is removed.
//   - A variable that agent programs of this kind read is kept.
//   - A variable that looks like a credential is removed.
//   - Every other variable is kept.
func environment(kind string, c Command) []string {
	own := ownPrefixes(kind, c.Env)
	return slices.DeleteFunc(slices.Clone(c.Env), func(v string) bool {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case slices.Contains(c.Given, name), strings.HasPrefix(name, "GAFFER_") && !urlWithPassword().MatchString(value):
			return false
		case slices.Contains(sockets, name):
			return true
		case slices.ContainsFunc(own, func(prefix string) bool { return strings.HasPrefix(name, prefix) }):
			return false
		}
		return secretName().MatchString(name) || urlWithPassword().MatchString(value)
	})
}
