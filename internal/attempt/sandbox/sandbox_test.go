package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/plan"
)

func TestAPlanCanChooseAStrongerSandboxThanTheUsersSettingAndNoWeakerOne(t *testing.T) {
	user := Settings{Mode: plan.SandboxBubblewrap}
	for want, got := range map[plan.SandboxMode]plan.SandboxMode{
		"": plan.SandboxBubblewrap, plan.SandboxNone: plan.SandboxBubblewrap, plan.SandboxProgram: plan.SandboxBubblewrap,
		plan.SandboxAuto: plan.SandboxBubblewrap, plan.SandboxBubblewrap: plan.SandboxBubblewrap, plan.SandboxContainer: plan.SandboxContainer,
	} {
		if s := user.Apply(plan.Sandbox{Mode: want}, false); s.Mode != got {
			t.Errorf("the plan says %q: found %q, want %q", want, s.Mode, got)
		}
	}
}

func TestAPlanCanChooseASandboxAlthoughTheUserWantsNone(t *testing.T) {
	for _, mode := range []plan.SandboxMode{plan.SandboxAuto, plan.SandboxProgram, plan.SandboxBubblewrap} {
		if s := (Settings{Mode: plan.SandboxNone}).Apply(plan.Sandbox{Mode: mode}, false); s.Mode != mode {
			t.Errorf("the plan says %q: found %q", mode, s.Mode)
		}
	}
}

func TestAFlagOverridesThePlan(t *testing.T) {
	if s := (Settings{Mode: plan.SandboxNone, Forced: true}).Apply(plan.Sandbox{Mode: plan.SandboxContainer}, true); s.Mode != plan.SandboxNone {
		t.Errorf("found %q, want none", s.Mode)
	}
}

func TestOnlyATaskWhoseQuestionsNobodyAnswersGetsASandboxByDefault(t *testing.T) {
	for policy, want := range map[plan.QuestionPolicy]plan.SandboxMode{"": "", plan.Ask: "", plan.Allow: plan.SandboxAuto, plan.Deny: plan.SandboxAuto, "rules": plan.SandboxAuto} {
		task := plan.Task{QuestionRules: plan.QuestionRules{Questions: policy}}
		if s := (Settings{Mode: plan.SandboxAuto}).Apply(plan.Sandbox{}, Unattended(task)); s.Mode != want {
			t.Errorf("questions %q: found %q, want %q", policy, s.Mode, want)
		}
	}
	if s := (Settings{}).Apply(plan.Sandbox{Mode: plan.SandboxNone}, true); s.Mode != plan.SandboxNone {
		t.Errorf("the plan says none: found %q", s.Mode)
	}
}

// everything has all sandboxes.
var everything = Facts{System: "linux", Bwrap: "/usr/bin/bwrap", Engine: "/usr/bin/podman", Socat: true}

func TestAutoIsTheStrongestSandboxThatTheMachineHas(t *testing.T) {
	noBwrap := Facts{System: "linux", NoBubblewrap: "no bwrap", NoContainer: "no engine"}
	nested := everything
	nested.Nested = true
	for name, c := range map[string]struct {
		facts Facts
		image string
		p     Program
		want  plan.SandboxMode
	}{
		"a container, with an image":      {everything, "agents", Program{Kind: "claude"}, plan.SandboxContainer},
		"bubblewrap, without an image":    {everything, "", Program{Kind: "claude"}, plan.SandboxBubblewrap},
		"the program's own":               {noBwrap, "agents", Program{Kind: "codex"}, plan.SandboxProgram},
		"bubblewrap for codex":            {everything, "", Program{Kind: "codex"}, plan.SandboxBubblewrap},
		"codex's own, if rules must hold": {everything, "agents", Program{Kind: "codex", Restricted: true}, plan.SandboxProgram},
		"both, if codex can make its own": {nested, "agents", Program{Kind: "codex", Restricted: true}, plan.SandboxBubblewrap},
		"bubblewrap for claude's rules":   {everything, "", Program{Kind: "claude", Restricted: true}, plan.SandboxBubblewrap},
		"none, if claude's needs bwrap":   {noBwrap, "", Program{Kind: "claude"}, plan.SandboxNone},
		"claude's own, outside of Linux":  {Facts{System: "darwin", NoBubblewrap: "no Linux", NoContainer: "no Linux"}, "", Program{Kind: "claude"}, plan.SandboxProgram},
		"none for a command":              {everything, "agents", Program{Kind: "command"}, plan.SandboxNone},
		"none for a program of a project": {everything, "agents", Program{Kind: "claude", Custom: true}, plan.SandboxNone},
		"none for gaffer's own merges":    {everything, "agents", Program{Kind: "command", Gaffer: true}, plan.SandboxNone},
	} {
		got, err := c.facts.Choose(plan.Sandbox{Mode: plan.SandboxAuto, Image: c.image}, c.p)
		if err != nil || got.Mode != c.want {
			t.Errorf("%s: found %+v %v", name, got, err)
		}
		if got.Mode == plan.SandboxNone && got.Why == "" && !c.p.Gaffer {
			t.Errorf("%s: there is no reason", name)
		}
	}
}

func TestATaskDoesNotStartWithoutTheSandboxThatItNeeds(t *testing.T) {
	bare := Facts{System: "linux", NoBubblewrap: "the program bwrap is not in PATH", NoContainer: "neither podman nor docker is in PATH"}
	for _, c := range []struct {
		facts Facts
		want  plan.Sandbox
		kind  string
		text  string
	}{
		{bare, plan.Sandbox{Mode: plan.SandboxBubblewrap}, "claude", "bwrap is not in PATH"},
		{bare, plan.Sandbox{Mode: plan.SandboxContainer, Image: "x"}, "claude", "neither podman nor docker"},
		{everything, plan.Sandbox{Mode: plan.SandboxContainer}, "claude", "needs an image"},
		{everything, plan.Sandbox{Mode: plan.SandboxProgram}, "gemini", "gemini has no sandbox of its own"},
		{everything, plan.Sandbox{Mode: plan.SandboxProgram, Network: plan.NetworkList}, "codex", "cannot limit its network"},
		{Facts{System: "linux"}, plan.Sandbox{Mode: plan.SandboxProgram}, "claude", "socat"},
	} {
		_, err := c.facts.Choose(c.want, Program{Kind: c.kind})
		if e := (*UnavailableError)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: found %v, want %s", c.want, err, c.text)
		}
	}
}

func TestAListOfHostsContainsNamesNamesBelowThemAndPorts(t *testing.T) {
	list := hostList{"api.example", "*.packages.example", "localhost:5432", "[::1]:80"}
	for address, want := range map[string]bool{
		"api.example 443": true, "API.example. 80": true, "api.example 22": false, "evil.api.example 443": false, "api.example.evil 443": false,
		"a.packages.example 443": true, "a.b.packages.example 443": true, "packages.example 443": false, "evilpackages.example 443": false,
		"localhost 5432": true, "localhost 80": false, "::1 80": true, "127.0.0.1 5432": false,
	} {
		host, port, _ := strings.Cut(address, " ")
		if got := list.allows(host, port); got != want {
			t.Errorf("%s: found %t, want %t", address, got, want)
		}
	}
}

func TestVariablesThatLookLikeKeysStayOutside(t *testing.T) {
	c := Command{Given: []string{"MY_TOKEN"}, Env: []string{
		"HOME=/home/ada", "PATH=/bin", "LANG=C", "KEYBOARD=de", "MONKEY=1", "ANTHROPIC_API_KEY=x", "CLAUDE_CODE_OAUTH_TOKEN=x", "MY_TOKEN=x", "GAFFER_ATTEMPT=a", "https_proxy=http://proxy:1",
		"OPENAI_API_KEY=x", "AWS_SECRET_ACCESS_KEY=x", "GH_TOKEN=x", "DB_PASSWORD=x", "SIGNING_KEY=x", "DATABASE_URL=x", "MIRROR=https://ada:secret@mirror.example/", "SSH_AUTH_SOCK=/x", "DOCKER_HOST=x",
		"GAFFER_DB=postgres://ada:secret@db/fleet",
	}}
	var got []string
	for _, v := range environment("claude", c) {
		name, _, _ := strings.Cut(v, "=")
		got = append(got, name)
	}
	want := []string{"HOME", "PATH", "LANG", "KEYBOARD", "MONKEY", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "MY_TOKEN", "GAFFER_ATTEMPT", "https_proxy"}
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// An agent may write the .git of its worktree, and so say which folders of the machine are its
// repository.
func TestAForgedWorktreeOpensNoFolder(t *testing.T) {
	dir := t.TempDir()
	victim, work := filepath.Join(dir, "victim/worktrees/x"), filepath.Join(dir, "work")
	for _, folder := range []string{victim, work, filepath.Join(dir, "victim/objects")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(work, ".git"), []byte("gitdir: "+victim+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if folders := Writable(work); len(folders) > 0 {
		t.Errorf("found %v", folders)
	}
}

func TestAPlanCanOpenNoFolderWithCredentials(t *testing.T) {
	home := realPath(t.TempDir())
	state := filepath.Join(home, "state")
	for _, name := range []string{".ssh/old", "notes", "shop", ".config/gaffer", "state/runs"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	key := filepath.Join(home, ".ssh/id_ed25519")
	if err := errors.Join(os.WriteFile(key, nil, 0o600), os.Symlink(key, filepath.Join(home, "link"))); err != nil {
		t.Fatal(err)
	}
	m := &Machine{Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + home}, Self: "/usr/bin/gaffer", Hidden: []string{state}}
	command := Command{Argv: []string{"true"}, Env: m.Environ, Dir: filepath.Join(home, "shop"), Scratch: filepath.Join(home, "scratch")}
	l, err := m.layout(Spec{Mode: plan.SandboxBubblewrap, Read: []string{"~", "~/.ssh"}}, command)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{".ssh": false, ".config/gaffer": false, "notes": true, "shop": true} {
		if _, shown := l.source(filepath.Join(home, name)); shown != want {
			t.Errorf("%s: shown is %t, want %t", name, shown, want)
		}
	}
	if _, err := m.layout(Spec{Mode: plan.SandboxBubblewrap, Write: []string{"~"}}, command); err == nil {
		t.Error("write opens the whole home folder")
	}
	withPath := command
	withPath.Env = append(slices.Clone(m.Environ), "PATH="+filepath.Join(home, ".ssh/old"), "GOROOT="+key)
	for name, c := range map[string]struct {
		spec    Spec
		command Command
		hidden  string
	}{
		"a file in a folder with credentials":   {Spec{Read: []string{"~/.ssh/id_ed25519"}}, command, key},
		"a link to such a file":                 {Spec{Read: []string{"~/link"}}, command, key},
		"a folder in a folder with credentials": {Spec{Write: []string{"~/.ssh/old"}}, command, filepath.Join(home, ".ssh/old")},
		"a folder of gaffer's state":            {Spec{Read: []string{"~/state/runs"}}, command, filepath.Join(state, "runs")},
		"a file of the system":                  {Spec{Read: []string{"/etc/shadow"}}, command, "/etc/shadow"},
		"a folder in PATH":                      {Spec{}, withPath, filepath.Join(home, ".ssh/old")},
		"a variable of a compiler":              {Spec{}, withPath, key},
	} {
		for _, c.spec.Mode = range []plan.SandboxMode{plan.SandboxBubblewrap, plan.SandboxContainer} {
			l, err := m.layout(c.spec, c.command)
			if err != nil {
				t.Fatal(err)
			}
			if _, shown := l.source(c.hidden); shown {
				t.Errorf("%s: %s is shown in the mode %s", name, c.hidden, c.spec.Mode)
			}
		}
	}
}
