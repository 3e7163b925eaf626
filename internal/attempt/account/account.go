// Package account describes the user's accounts of agent programs: the environment variables by
// which a program uses an account, and how a conversation that began with one account continues
// with another.
package account

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gaffer/internal/plan/secret"
)

// Account is one of the user's accounts of an agent program.
type Account struct {
	Name    string
	Agent   string // name of the agent that uses the account
	Kind    string // the built-in agent whose protocol the agent uses, such as claude
	Config  string // absolute path of the program's config folder; empty means the program's default
	Env     map[string]secret.Value
	Reserve bool // used only while all accounts of the agent without Reserve are paused, for example by a rate limit
}

// program describes where an agent program finds its login.
type program struct {
	config string   // environment variable with the path of the config folder
	folder string   // the default config folder, below the user's home folder
	keys   []string // environment variables with API keys, which override the login
	// conversation returns a glob pattern for the paths of a conversation's files, relative to the
	// config folder. The parameter thread is the id of the conversation.
	conversation func(thread string) string
}

var programs = map[string]program{
	"claude": {
		config: "CLAUDE_CONFIG_DIR", folder: ".claude",
		keys:         []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
		conversation: func(thread string) string { return "projects/*/" + thread + ".jsonl" },
	},
	"codex": {
		config: "CODEX_HOME", folder: ".codex",
		keys:         []string{"CODEX_API_KEY", "CODEX_ACCESS_TOKEN"},
		conversation: func(thread string) string { return "sessions/*/*/*/rollout-*" + thread + "*.jsonl" },
	},
	"gemini": {keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}},
}

// ConfigVariable returns the name of the environment variable that tells an agent program where its
// config folder is. The parameter kind names a built-in agent, such as "claude". The result is ""
// if the program has no such variable.
func ConfigVariable(kind string) string { return programs[kind].config }

// Environment returns the account's environment variables in two parts. The result env has the
// variables with plain values, as NAME=value. The result refs has the variables whose values are
// references to secrets.
func (a Account) Environment() (env []string, refs map[string]secret.Value) {
	refs = map[string]secret.Value{}
	for name, v := range a.Env {
		if v.IsReference() {
			refs[name] = v
		} else {
			env = append(env, name+"="+v.Text)
		}
	}
	if a.Config != "" {
		env = append(env, ConfigVariable(a.Kind)+"="+a.Config)
	}
	return env, refs
}

// Unset returns the names of environment variables that the program must not inherit. With one of
// them, the program would use another account's key instead of this account.
func (a Account) Unset() (names []string) {
	for _, name := range programs[a.Kind].keys {
		if _, own := a.Env[name]; !own {
			names = append(names, name)
		}
	}
	return names
}

// configFolder returns the config folder that the program uses with the account.
func (a Account) configFolder(getenv func(string) string) string {
	p := programs[a.Kind]
	switch own := a.Env[p.config]; {
	case a.Config != "":
		return a.Config
	case p.config != "" && own.Text != "":
		return own.Text
	case p.config != "" && getenv(p.config) != "":
		return getenv(p.config)
	}
	return filepath.Join(getenv("HOME"), p.folder)
}

// ErrNoConversation is returned by [CopyConversation] if the conversation cannot be continued with
// the other account.
var ErrNoConversation = errors.New("the conversation cannot be continued with another account")

// isThread reports whether text may be the id of a conversation. The id becomes part of a pattern
// for file names, so it may contain only letters, digits, underscores and hyphens, and must be at
// least 8 characters long.
func isThread(text string) bool {
	return len(text) >= 8 && strings.Trim(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-") == ""
}

// CopyConversation makes it possible to continue a conversation with another account of the same
// agent. The parameter thread is the id of the conversation. It was last used with the account in
// the parameter from. CopyConversation copies the conversation's files to the config folder of the
// account in the parameter to. If both accounts use the same folder, it does nothing. It may be
// called several times. It returns [ErrNoConversation] if it finds no files of the conversation.
func CopyConversation(thread string, from, to Account, getenv func(string) string) error {
	source, target := from.configFolder(getenv), to.configFolder(getenv)
	if filepath.Clean(source) == filepath.Clean(target) {
		return nil
	}
	p := programs[to.Kind]
	if p.conversation == nil || !isThread(thread) {
		return ErrNoConversation
	}
	paths, err := fs.Glob(os.DirFS(source), p.conversation(thread))
	if err != nil || len(paths) == 0 {
		return ErrNoConversation
	}
	for _, path := range paths {
		if err := copyFile(filepath.Join(source, path), filepath.Join(target, path)); err != nil {
			return fmt.Errorf("copy conversation %s: %w", thread, err)
		}
	}
	return nil
}

// copyFile copies a file. It replaces an older copy atomically: other processes never see an
// incomplete copy.
func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // the file was only read, so an error of Close does not matter
	if info, err := source.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, ErrNoConversation)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	target, err := os.CreateTemp(filepath.Dir(to), ".gaffer-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(target.Name()) }() // ignore the error: after the rename, there is no file to remove
	_, err = io.Copy(target, source)
	if err := errors.Join(err, target.Close()); err != nil {
		return err
	}
	return os.Rename(target.Name(), to)
}
