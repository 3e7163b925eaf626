package sandbox

// attack is something that a hostile agent tries. The script exits with 0 if it has succeeded. It runs
// once without a sandbox, where it must succeed, and once in each sandbox.
type attack struct {
	name   string
	what   string
	script string
	only   string // name of the only sandbox in which it is tried; empty means all
}

// attacks is the table in docs/sandbox.md. The variables are set by the test.
var attacks = []attack{
	{"read-ssh-key", "read `~/.ssh/id_ed25519`", `grep -q SECRET ~/.ssh/id_ed25519`, ""},
	{"read-cloud-keys", "read `~/.aws`, `~/.config/gh`, `~/.kube`, `~/.docker` or `~/.netrc`", `grep -qr SECRET ~/.aws ~/.config/gh ~/.kube ~/.docker ~/.netrc`, ""},
	{"read-gaffer-token", "read gaffer's settings and tokens", `grep -q SECRET ~/.config/gaffer/token`, ""},
	{"read-gaffer-state", "read gaffer's state folder", `grep -q SECRET "$STATE/gaffer.db"`, ""},
	{"list-home", "list the home folder", `ls ~ | grep -q diary`, ""},
	{"read-other-conversations", "read the agent's conversations of other projects", `ls ~/.claude/projects | grep -qx other`, ""},
	{"read-environment-key", "read a key of another program in its environment", `test -n "$GITHUB_TOKEN$DEPLOY_PASSWORD"`, ""},
	{"use-ssh-agent", "connect to the user's ssh agent", `"$SELF" dial unix "$AGENT_SOCKET"`, ""},
	{"write-home", "add a line to `~/.profile`", `echo evil >> ~/.profile; OUTSIDE grep -q evil "$HOME/.profile"`, ""},
	{"write-outside", "write to another folder of the user", `echo evil > "$WORLD/elsewhere/file"`, ""},
	{"write-hook", "add a git hook", `echo evil > "$MAIN/.git/hooks/post-checkout"`, ""},
	{"write-git-config", "let git run a program by its settings", `git config core.fsmonitor evil && OUTSIDE grep -q evil "$MAIN/.git/config"`, ""},
	{"replace-git-link", "point the worktree to a repository of its own", `mv .git .git-old && mkdir .git && OUTSIDE test -d "$TREE/.git"`, ""},
	{"redirect-repository", "point git's folder of the worktree to other settings", `echo "$TREE" > "$GIT/commondir"`, ""},
	{"worktree-config", "add settings of the worktree", `echo evil > "$GIT/config.worktree"; OUTSIDE grep -q evil "$GIT/config.worktree"`, ""},
	{"move-main", "move another branch", `git update-ref refs/heads/main "$(git commit-tree -m evil HEAD^{tree})"`, ""},
	{"delete-history", "delete the packed objects", `rm -f "$MAIN"/.git/objects/pack/*.pack; OUTSIDE sh -c "! ls '$MAIN'/.git/objects/pack/*.pack"`, ""},
	{"add-agent-hook", "add a hook to the agent program's settings", `echo '{"hooks":"evil"}' > ~/.claude/settings.json; OUTSIDE grep -q evil "$HOME/.claude/settings.json"`, ""},
	{"add-agent-server", "add a program to the agent's list of servers", `echo evil > ~/.claude.json; OUTSIDE grep -q evil "$HOME/.claude.json"`, ""},
	{"see-processes", "see processes outside", `tr '\0' ' ' < /proc/$DECOY/cmdline | grep -q decoy`, ""},
	{"signal-outside", "end a process outside", `kill $DECOY`, ""},
	{"kill-supervisor", "end its supervisor", `for p in /proc/[0-9]*; do if tr '\0' ' ' < $p/cmdline 2>/dev/null | grep -q "supervise $ATTEMPT"; then kill -9 ${p#/proc/} && exit 0; fi; done; exit 1`, ""},
	{"loopback", "connect to a server on this machine", `"$SELF" dial tcp "$FORBIDDEN"`, "hosts"},
	{"forbidden-host", "use the proxy for a host that is not listed", `"$SELF" fetch "http://$FORBIDDEN/"`, "hosts"},
	{"forbidden-tunnel", "use a tunnel through the proxy for it", `"$SELF" tunnel "$FORBIDDEN"`, "hosts"},
}

// honest is work that must be possible in each sandbox.
var honest = []attack{
	{"edit", "edit files in the worktree", `echo new >> README && OUTSIDE grep -q new "$TREE/README"`, ""},
	{"commit", "commit in the worktree, with the user's name", `echo c > c.txt && git add -A && git commit -qm work && test "$(git log -1 --format=%an)" = Ada && OUTSIDE git -C "$MAIN" cat-file -e gaffer/run/task:c.txt`, ""},
	{"stash", "use `git stash`, `git status` and `git diff`", `echo s >> README && git stash -q && git stash pop -q && git diff --quiet; git status --porcelain | grep -q README`, ""},
	{"build", "run a build that uses temporary files and the home folder", `t=$(mktemp) && echo cached > ~/.cache-file && sh -c 'echo built > out' && test -s out && rm "$t"`, ""},
	{"own-settings", "read the agent program's settings, and change its own copy of others", `grep -q mine ~/.claude/settings.json && grep -q onboarding ~/.claude.json && echo x > ~/.claude.json.tmp && mv ~/.claude.json.tmp ~/.claude.json`, ""},
	{"conversation", "keep the conversation for later attempts", `echo '{}' > ~/.claude/projects/$PROJECT/a.jsonl && OUTSIDE test -s "$HOME/.claude/projects/$PROJECT/a.jsonl"`, ""},
	{"own-key", "use the agent's own key", `test "$ANTHROPIC_API_KEY" = own`, ""},
	{"given-key", "use a key that the plan gives to the task", `test "$TASK_TOKEN" = given`, ""},
	{"reach", "connect to a server", `"$SELF" dial tcp "$FORBIDDEN"`, "bubblewrap"},
	{"allowed-host", "connect to a listed host", `"$SELF" fetch "http://$ALLOWED/" && "$SELF" tunnel "$ALLOWED"`, "hosts"},
}
