package preflight

import (
	"bytes"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"gaffer/internal/plan/secret"
	"gaffer/statefile"
	"gaffer/statefile/host"
)

// login lists the places where an agent program may keep its login (its key or token). If gaffer
// cannot find out whether the user is logged in, it assumes that the user is, because it must not
// refuse a run that could work.
type login struct {
	variables []string     // names, or beginnings of names, of environment variables that contain a login
	folder    string       // name of the environment variable that has the path of the program's settings folder
	otherwise string       // path of the settings folder if the variable is not set, relative to the home folder
	files     []loginTrace // files in the settings folder
	home      []loginTrace // files in the home folder
	project   []loginTrace // files in the project or in a folder above it
	system    []loginTrace // files with absolute paths
	keychain  bool         // on macOS the login may be in the keychain, which gaffer does not read
	next      string       // what the user can do to log in
}

// loginTrace is a file that shows that the user is logged in if it contains one of the words. If
// there are no words, it is enough that the file exists.
type loginTrace struct {
	name  string
	words []string
}

var claudeWords = []string{"apiKeyHelper", "ANTHROPIC_API", "ANTHROPIC_AUTH", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_USE_", "CLAUDE_CODE_OAUTH", "forceLogin"}

// logins has the places where the login may be, for each agent program whose login is checked.
// opencode is missing, because some of its language models need no login.
var logins = map[string]login{
	"claude": {
		variables: []string{"ANTHROPIC_API", "ANTHROPIC_AUTH", "ANTHROPIC_BASE_URL", "ANTHROPIC_UNIX_SOCKET", "CLAUDE_CODE_OAUTH", "CLAUDE_CODE_USE_", "AWS_BEARER_TOKEN_BEDROCK"},
		folder:    "CLAUDE_CONFIG_DIR", otherwise: ".claude",
		files:    []loginTrace{{name: ".credentials.json"}, {"settings.json", claudeWords}, {".claude.json", []string{"oauthAccount", "primaryApiKey"}}},
		home:     []loginTrace{{".claude.json", []string{"oauthAccount", "primaryApiKey"}}},
		project:  []loginTrace{{".claude/settings.json", claudeWords}, {".claude/settings.local.json", claudeWords}},
		system:   []loginTrace{{name: "/etc/claude-code/managed-settings.json"}},
		keychain: true,
		next:     "run 'claude' once and log in, or set ANTHROPIC_API_KEY",
	},
	"codex": {
		variables: []string{"CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "OPENAI_API_KEY"},
		folder:    "CODEX_HOME", otherwise: ".codex",
		files:  []loginTrace{{name: "auth.json"}, {"config.toml", []string{"model_provider", "credentials_store", "bearer_token", "oss"}}},
		system: []loginTrace{{name: "/etc/codex/config.toml"}, {name: "/etc/codex/managed_config.toml"}},
		next:   "run 'codex login', or set CODEX_API_KEY",
	},
	"gemini": {
		variables: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_", "GOOGLE_CLOUD_", "GOOGLE_APPLICATION_CREDENTIALS", "GEMINI_CLI_USE_", "CLOUD_SHELL"},
		otherwise: ".gemini",
		files:     []loginTrace{{name: "oauth_creds.json"}, {name: "gemini-credentials.json"}, {name: "google_accounts.json"}, {name: ".env"}, {"settings.json", []string{"selectedType", "enforcedType"}}},
		home:      []loginTrace{{name: ".env"}},
		project:   []loginTrace{{name: ".env"}, {name: ".gemini/.env"}, {".gemini/settings.json", []string{"selectedType"}}},
		system:    []loginTrace{{name: "/etc/gemini-cli/settings.json"}},
		keychain:  true,
		next:      "run 'gemini' once and log in, or set GEMINI_API_KEY",
	},
}

// checkLogin reports a problem if it finds no login of the agent program in the environment
// variables or in files. It checks nothing if logins has no entry for kind, if HOME is not set, or
// if the login may be in the macOS keychain. It runs no program and uses no network.
func (c *checker) checkLogin(kind string, env []string, u *agentUse) {
	l, ok := logins[kind]
	home := lookupEnv(env, "HOME")
	if !ok || home == "" || l.keychain && runtime.GOOS == "darwin" {
		return
	}
	for _, v := range env {
		name, text, _ := strings.Cut(v, "=")
		for _, beginning := range l.variables {
			if text != "" && strings.HasPrefix(name, beginning) {
				return
			}
		}
	}
	// The value of a reference to a secret is not known here. If it may contain the login, or the place
	// of the login, assume that the user is logged in.
	for _, name := range references(c.Agents[u.agent].Env, u.first.Env) {
		if name == "HOME" || name == l.folder || slices.ContainsFunc(l.variables, func(beginning string) bool { return strings.HasPrefix(name, beginning) }) {
			return
		}
	}
	folder := filepath.Join(home, l.otherwise)
	if l.folder != "" && lookupEnv(env, l.folder) != "" {
		folder = lookupEnv(env, l.folder)
	}
	if hasTrace(folder, l.files) || hasTrace(home, l.home) || hasTrace("/", l.system) {
		return
	}
	// Look in the project and in all folders above it, as some programs do.
	for dir := c.Root; ; dir = filepath.Dir(dir) {
		if hasTrace(dir, l.project) {
			return
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	c.addMissing(l.next, "%s: %s is not logged in", u.describe(), kind)
}

func hasTrace(folder string, traces []loginTrace) bool {
	for _, t := range traces {
		data, err := statefile.ReadBytes(host.OS(), filepath.Join(folder, t.name))
		if err != nil {
			continue
		}
		if len(t.words) == 0 {
			return true
		}
		for _, word := range t.words {
			if bytes.Contains(data, []byte(word)) {
				return true
			}
		}
	}
	return false
}

// references returns the names of the variables whose values are references to secrets.
func references(envs ...map[string]secret.Value) (names []string) {
	for _, env := range envs {
		for name, value := range env {
			if value.IsReference() {
				names = append(names, name)
			}
		}
	}
	return names
}

// lookupEnv returns the value of the named variable in env, or "" if it is not set.
func lookupEnv(env []string, name string) (text string) {
	for _, v := range env {
		if after, ok := strings.CutPrefix(v, name+"="); ok {
			text = after
		}
	}
	return text
}
