package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gaffer/internal/project/trust"
)

// Programs lists the programs that settings in the repository's own configuration make git run.
// Such settings may come with a copied folder, and agents can write them.
func (r *Repo) Programs() []trust.Program { return slices.Clone(r.programs) }

// readPrograms finds the programs that the repository's own settings make git run, and stores them
// in r.programs. It changes the client r.Git so that git does not run them: the user's own settings
// or harmless values apply instead. The client r.plain still runs them.
func (r *Repo) readPrograms(ctx context.Context) error {
	out, err := r.Git.Run(ctx, "config", "--list", "-z", "--show-scope")
	if err != nil {
		return err
	}
	own, users := split(out, "local", "worktree")
	// Also read the configurations of linked worktrees.
	files, err := filepath.Glob(filepath.Join(r.Folder, "worktrees", "*", "config.worktree"))
	if err != nil {
		return err
	}
	for _, file := range files {
		out, err := r.Git.Run(ctx, "config", "--list", "-z", "--show-scope", "--includes", "--file", file)
		if err != nil {
			return err
		}
		more, _ := split(out, "command")
		own = append(own, more...)
	}
	var replaced []setting
	for _, s := range own {
		neutral, ok := withoutProgram(s.key)
		if !ok {
			continue
		}
		p := trust.Program{Setting: "git " + s.key, Value: s.value}
		if slices.Contains(r.programs, p) {
			continue
		}
		r.programs = append(r.programs, p)
		replaced = append(replaced, neutral...)
		for _, u := range users { // the user's own settings with the same key apply instead
			if u.key == s.key {
				replaced = append(replaced, u)
			}
		}
	}
	r.plain = r.Git
	r.Git = r.Git.With(variables(replaced)...)
	return nil
}

// setting is the key and value of a git setting.
type setting struct{ key, value string }

// split parses the output of git config --list -z --show-scope. The result scoped has the settings
// whose scope, for example "local", is in the parameter scopes. The result users has the settings
// of the user and of the system, which are the scopes "global" and "system".
func split(list string, scopes ...string) (scoped, users []setting) {
	words := strings.Split(list, "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		key, value, _ := strings.Cut(words[i+1], "\n")
		switch scope := words[i]; {
		case slices.Contains(scopes, scope):
			scoped = append(scoped, setting{key, value})
		case scope == "global" || scope == "system":
			users = append(users, setting{key, value})
		}
	}
	return scoped, users
}

// variables returns environment variables that pass settings to git. Unlike in 'git -c', a key may
// contain an equals sign.
func variables(list []setting) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(list))}
	for i, s := range list {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.value))
	}
	return env
}

// withoutProgram returns settings that keep git from running a program. The parameter key is the
// name of the setting that makes git run the program, such as core.sshcommand. withoutProgram
// returns false if no settings are needed, because the value of key is no program or gaffer never
// lets git run it. For example, gaffer passes --no-pager to every git command.
func withoutProgram(key string) ([]setting, bool) {
	section, rest, _ := strings.Cut(key, ".")
	name, middle := rest, ""
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		name, middle = rest[i+1:], rest[:i]
	}
	become := func(value string) ([]setting, bool) { return []setting{{key, value}}, true }
	switch section + "." + name {
	case "filter.clean", "filter.smudge", "filter.process":
		return []setting{{key, ""}, {"filter." + middle + ".required", "false"}}, true
	case "merge.driver":
		// Use git's own merge of two versions of a file. With an empty driver, git would keep one
		// version and lose the other.
		return become("git merge-file --marker-size=%L %A %O %B")
	case "hook.command", "core.askpass", "core.alternaterefscommand":
		return become("true")
	case "core.sshcommand":
		return become("ssh")
	case "core.gitproxy":
		// Git uses the first value of this setting, so it cannot be overridden. Forbid the protocol
		// for which git would run the program.
		return []setting{{"protocol.git.allow", "never"}}, true
	case "credential.helper":
		return become("")
	case "remote.uploadpack":
		return become("git-upload-pack")
	case "remote.receivepack":
		return become("git-receive-pack")
	case "gpg.program":
		return become(map[string]string{"": "gpg", "openpgp": "gpg", "x509": "gpgsm", "ssh": "ssh-keygen"}[middle])
	case "protocol.allow":
		return []setting{{"protocol.allow", "user"}, {"protocol.ext.allow", "never"}}, true
	}
	return nil, false
}

// changesFiles reports whether files or commits would have different content if git did not run
// the program.
func changesFiles(p trust.Program) bool {
	return strings.HasPrefix(p.Setting, "git filter.") || strings.HasPrefix(p.Setting, "git merge.")
}

// MayWrite returns an error if the repository's own settings name filters or merge drivers that the
// user does not trust. Checkouts, commits and merges would need these programs.
func (r *Repo) MayWrite() error {
	return trust.Check(os.Getenv, r.main, slices.DeleteFunc(r.Programs(), func(p trust.Program) bool { return !changesFiles(p) }))
}

// writer returns the client to use for changes of files or commits. If the user trusts all programs
// that the repository's own settings name, the client runs them. Otherwise it runs none of them.
func (r *Repo) writer() Client {
	if trust.Check(os.Getenv, r.main, r.programs) != nil {
		return r.Git
	}
	return r.plain
}

// Environ returns the environment for a program that runs git in this repository, for example to
// push. It returns a [*trust.Error] if the repository's own settings name programs that the user
// does not trust.
func (r *Repo) Environ() ([]string, error) {
	if err := trust.Check(os.Getenv, r.main, r.programs); err != nil {
		return nil, err
	}
	g := r.plain.With(variables([]setting{{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}})...)
	if ask, ok := os.LookupEnv("GIT_ASKPASS"); ok { // use the user's own program for password prompts
		g = g.With("GIT_ASKPASS=" + ask)
	}
	return g.env, nil
}
