package permission

import (
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

func rules(t testing.TB, texts ...string) []Rule {
	t.Helper()
	list, err := ParseAll(texts)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func bash(command string) Call {
	input, _ := json.Marshal(map[string]string{"command": command})
	return Call{Tool: "Bash", Input: input, Dir: "/srv/repo"}
}

func tool(name, member, value string) Call {
	input, _ := json.Marshal(map[string]string{member: value})
	return Call{Tool: name, Input: input, Dir: "/srv/repo"}
}

func TestAnAllowRuleAllowsOnlyWhatItNames(t *testing.T) {
	for _, c := range []struct {
		rules string // separated by |
		call  Call
		want  Outcome
	}{
		{"Bash(go test:*)", bash("go test"), Allowed},
		{"Bash(go test:*)", bash("go test ./x"), Allowed},
		{"Bash(go test *)", bash("go test ./x -run 'a b'"), Allowed},
		{"Bash(go test:*)", bash("go testx"), Asked},
		{"Bash(go test:*)", bash("go vet"), Asked},
		{"Bash(go test*)", bash("go testx"), Allowed},
		{"Bash(npm run test*)", bash("npm run test:unit --watch"), Allowed},
		{"Bash(go test ./x)", bash("go test ./x"), Allowed},
		{"Bash(go test ./x)", bash("  go test ./x\n"), Allowed},
		{"Bash(go test ./x)", bash("go test './x'"), Allowed},
		{"Bash(go test ./x)", bash("go test ./x ./y"), Asked},
		{"Bash(make a && make b)", bash("make a && make b"), Allowed},
		{"Bash(make a && make b)", bash("make a && make c"), Asked},
		{"Bash", bash("anything; at all"), Allowed},
		{"Bash(*)", bash("anything; at all"), Allowed},
		{"Bash(GOOS=js go vet:*)", bash("GOOS=js go vet ./x"), Allowed},

		// compound commands
		{"Bash(go test:*)|Bash(go vet:*)", bash("go test && go vet"), Allowed},
		{"Bash(go test:*)|Bash(go vet:*)", bash("(go test; go vet) || ! go test | go vet & go vet"), Allowed},
		{"Bash(go test:*)", bash("go test && rm -rf x"), Asked},
		{"Bash(go test:*)", bash("go test || rm -rf x"), Asked},
		{"Bash(go test:*)", bash("go test; rm -rf x"), Asked},
		{"Bash(go test:*)", bash("go test | tee x"), Asked},
		{"Bash(go test:*)", bash("go test |& tee x"), Asked},
		{"Bash(go test:*)", bash("go test & rm x"), Asked},
		{"Bash(go test:*)", bash("go test\nrm x"), Asked},
		{"Bash(go test:*)", bash("go test\r\nrm x"), Asked},
		{"Bash(go test:*)", bash("go test\rrm x"), Asked},
		{"Bash(go test:*)", bash("go test \\\nrm x"), Allowed}, // one line: rm is an argument
		{"Bash(go test:*)", bash("go test # the rest is a comment"), Allowed},
		{"Bash(go test:*)", bash("go test # comment\nrm x"), Asked},
		{"Bash(go test:*)", bash("(rm x); go test"), Asked},
		{"Bash(go test:*)", bash("{ rm x; }; go test"), Asked},
		{"Bash(go test:*)", bash("if go test; then rm x; fi"), Asked},
		{"Bash(go test:*)", bash("if go test; then go test x; else go test y; fi"), Allowed},
		{"Bash(go test:*)", bash("while rm x; do go test; done"), Asked},

		// commands inside of words
		{"Bash(go test:*)", bash("go test $(rm x)"), Asked},
		{"Bash(go test:*)", bash("go test `rm x`"), Asked},
		{"Bash(go test:*)", bash(`go test "a $(rm x)"`), Asked},
		{"Bash(go test:*)", bash(`go test "${A:-$(rm x)}"`), Asked},
		{"Bash(go test:*)", bash("go test ${A:-`rm x`}"), Asked},
		{"Bash(go test:*)", bash("go test $((1+$(rm x)))"), Asked},
		{"Bash(go test:*)", bash("go test ${a[$(rm x)]}"), Asked},
		{"Bash(go test:*)", bash("go test ${PS1@P}"), Asked},
		{"Bash(go test:*)", bash("go test <(rm x)"), Asked},
		{"Bash(go test:*)", bash("go test >(rm x)"), Asked},
		{"Bash(go test:*)", bash("go test @($(rm x))"), Asked},
		{"Bash(go test:*)", bash("go test *(e:'rm x':)"), Asked}, // zsh runs this
		{"Bash(go test:*)", bash("go test <<E\n$(rm x)\nE"), Asked},
		{"Bash(go test:*)", bash("go test <<'E'\n$(rm x)\nE"), Allowed},
		{"Bash(go test:*)", bash("go test <<< $(rm x)"), Asked},
		{"Bash(go test:*)|Bash(git diff:*)", bash("go test $(git diff --name-only)"), Allowed},
		{"Bash(go test:*)", bash("go test $PKG ${PKG} '$(rm x)' *.go"), Allowed},

		// what changes the meaning of the words
		{"Bash(go test:*)", bash("PATH=/evil go test"), Asked},
		{"Bash(go test:*)", bash("PATH=/evil; go test"), Asked},
		{"Bash(go test:*)", bash("export PATH=/evil; go test"), Asked},
		{"Bash(go test:*)", bash("for PATH in /evil; do go test; done"), Asked},
		{"Bash(go test:*)", bash("go() { rm x; }; go test"), Asked},
		{"Bash(go test:*)", bash("alias go=rm\ngo test"), Asked},
		{"Bash(go test:*)", bash("./go test"), Asked},
		{"Bash(go test:*)", bash("$GO test"), Asked},
		{"Bash(go test:*)", bash("g? test"), Asked},
		{"Bash(go test:*)", bash("{rm,go} test"), Asked},
		{"Bash(go test:*)", bash("go $X test"), Asked},
		{"Bash(go test:*)", bash(`g"o" 'te's\t ./x`), Allowed},
		{"Bash(go test:*)", bash("eval go test"), Asked},
		{"Bash(go test:*)", bash("bash -c 'go test'"), Asked},
		{"Bash(bash:*)", bash("bash -c 'go test'"), Allowed},
		{"Bash(go test:*)", bash("let 'a[$(rm x)]'; go test"), Asked},
		{"Bash(go test:*)", bash("[[ -v a[$(rm x)] ]] && go test"), Asked},

		// redirections
		{"Bash(go test:*)", bash("go test > out.txt"), Asked},
		{"Bash(go test:*)", bash("go test >> out.txt"), Asked},
		{"Bash(go test:*)", bash("go test &> out.txt"), Asked},
		{"Bash(go test:*)", bash("go test >& out.txt"), Asked},
		{"Bash(go test:*)", bash("go test < /etc/shadow"), Asked},
		{"Bash(go test:*)", bash("go test {fd}> /dev/null"), Asked},
		{"Bash(go test:*)", bash("go test > /dev/tcp/h/1"), Asked},
		{"Bash(go test:*)", bash("go test > /dev/null 2>&1"), Allowed},
		{"Bash(go test:*)|Edit(out/**)", bash("go test > out/a.txt"), Allowed},
		{"Bash(go test:*)|Edit(out/**)", bash("go test > out/../a.txt"), Asked},
		{"Bash(go test:*)|Edit(out/**)", bash("go test > $F"), Asked},
		{"Bash(go test:*)|Bash(cd:*)|Edit(out/**)", bash("cd / && go test > out/a.txt"), Asked},
		{"Bash(go test:*)|Bash(command:*)|Edit(out/**)", bash("command cd / && go test > out/a.txt"), Asked},
		{"Bash(go test:*)", bash("> x"), Asked},
		{"Bash(ls)|Edit(out/**)", Call{Tool: "Bash", Dir: "/srv", Input: json.RawMessage(`{"command":"ls > out/a","cwd":"/srv"}`)}, Allowed},
		{"Bash(ls)|Edit(out/**)", Call{Tool: "Bash", Dir: "/srv", Input: json.RawMessage(`{"command":"ls > out/a","cwd":"/etc"}`)}, Asked},

		// what cannot be read
		{"Bash(go test:*)", bash("go test 'x"), Asked},
		{"Bash(go test:*)", bash("go test x("), Asked},
		{"Bash(go test:*)", bash("go test \x00; rm x"), Asked},
		{"Bash(go test:*)", bash("go test " + strings.Repeat("x", maxCommand)), Asked},
		{"Bash(go test:*)", bash(strings.Repeat("(", 20000) + "go test" + strings.Repeat(")", 20000)), Asked},
		{"Bash(go test:*)", bash(""), Asked},
		{"Bash(go test:*)", Call{Tool: "Bash", Input: json.RawMessage(`{"command":"rm x","Command":"go test"}`)}, Asked},
		{"Bash(go test:*)", Call{Tool: "Bash", Input: json.RawMessage(`["go test"]`)}, Asked},
		{"Bash(go test:*)", Call{Tool: "Bash", Input: json.RawMessage(`{"command":"go test","dangerouslyDisableSandbox":true}`)}, Asked},
		{"Bash", Call{Tool: "Bash", Input: json.RawMessage(`{"command":"go test","dangerouslyDisableSandbox":true}`)}, Asked},

		// files
		{"Edit(src/**)", tool("Edit", "file_path", "/srv/repo/src/a.go"), Allowed},
		{"Edit(src/**)", tool("Write", "file_path", "src/b/c.go"), Allowed},
		{"Edit(/src/**)", tool("MultiEdit", "file_path", "/srv/repo/src/a.go"), Allowed},
		{"Edit(src/**)", tool("NotebookEdit", "notebook_path", "/srv/repo/src/a.ipynb"), Allowed},
		{"Edit(src)", tool("Edit", "file_path", "/srv/repo/src/a.go"), Allowed},
		{"Edit(src/*.go)", tool("Edit", "file_path", "/srv/repo/src/a.go"), Allowed},
		{"Edit(src/*.go)", tool("Edit", "file_path", "/srv/repo/src/x/a.go"), Asked},
		{"Edit(src/**/*.go)", tool("Edit", "file_path", "/srv/repo/src/a.go"), Allowed},
		{"Edit(*.go)", tool("Edit", "file_path", "/srv/repo/src/x/a.go"), Allowed},
		{"Edit(/*.go)", tool("Edit", "file_path", "/srv/repo/src/x/a.go"), Asked},
		{"Edit(src/**)", tool("Edit", "file_path", "/srv/repo/src"), Asked},
		{"Edit(src/**)", tool("Edit", "file_path", "/srv/repo/src/../main.go"), Asked},
		{"Edit(src/**)", tool("Edit", "file_path", "src/../../x"), Asked},
		{"Edit(src/**)", tool("Edit", "file_path", "/srv/repository/src/a"), Asked},
		{"Edit(src/**)", tool("Edit", "file_path", "/src/a"), Asked},
		{"Edit(**)", tool("Edit", "file_path", "/etc/passwd"), Asked},
		{"Edit(//etc/**)", tool("Edit", "file_path", "/etc/passwd"), Allowed},
		{"Edit(//srv/repo/src/**)", tool("Edit", "file_path", "src/a"), Allowed},
		{"Edit(src/**)", Call{Tool: "Edit", Input: json.RawMessage(`{"file_path":"/srv/repo/src/a"}`)}, Asked}, // the work folder is unknown
		{"Edit", tool("Write", "file_path", "/etc/passwd"), Allowed},
		{"Write", tool("Write", "file_path", "/etc/passwd"), Allowed},
		{"Write", tool("Edit", "file_path", "/etc/passwd"), Asked},
		{"Edit", tool("Edit", "file_path", "/srv/repo/.git/hooks/pre-commit"), Asked},
		{"Edit(**)", tool("Edit", "file_path", "/srv/repo/.GIT/config"), Asked},
		{"Edit(**)", tool("Edit", "file_path", "/srv/repo/.claude/settings.json"), Asked},
		{"Edit(.git/**)", tool("Edit", "file_path", "/srv/repo/.git/config"), Allowed},
		{"Edit(**)", Call{Tool: "Edit", Dir: "/home/ada/.claude/worktrees/1", Input: json.RawMessage(`{"file_path":"a.go"}`)}, Allowed},
		{"Edit(src/**)", Call{Tool: "Edit", Dir: "/srv/repo", Input: json.RawMessage(`{"paths":["src/a","src/b"]}`)}, Allowed},
		{"Edit(src/**)", Call{Tool: "Edit", Dir: "/srv/repo", Input: json.RawMessage(`{"paths":["src/a","main.go"]}`)}, Asked},
		{"Read(docs/**)", tool("Grep", "path", "docs/a"), Allowed},
		{"Read", tool("Edit", "file_path", "docs/a"), Asked},

		// hosts and other tools
		{"WebFetch(domain:go.dev)", tool("WebFetch", "url", "https://GO.dev:443/x"), Allowed},
		{"WebFetch(domain:go.dev)", tool("WebFetch", "url", "https://pkg.go.dev/x"), Asked},
		{"WebFetch(domain:go.dev)", tool("WebFetch", "url", "https://go.dev@evil.example/"), Asked},
		{"WebFetch(domain:go.dev)", tool("WebFetch", "url", "https://go.dev.evil.example/"), Asked},
		{"WebFetch(domain:go.dev)", tool("WebFetch", "url", "file://go.dev/etc/passwd"), Asked},
		{"WebFetch(domain:*.go.dev)", tool("WebFetch", "url", "https://pkg.go.dev/x"), Allowed},
		{"WebFetch(domain:*.go.dev)", tool("WebFetch", "url", "https://evilgo.dev/x"), Asked},
		{"WebFetch", tool("WebFetch", "url", "::"), Allowed},
		{"mcp__db__query", tool("mcp__db__query", "sql", "x"), Allowed},
		{"mcp__db__query", tool("mcp__db__drop", "sql", "x"), Asked},
		{"mcp__db", tool("mcp__db__drop", "sql", "x"), Allowed},
		{"mcp__db__*", tool("mcp__db__drop", "sql", "x"), Allowed},
		{"mcp__db", tool("mcp__dbx__drop", "sql", "x"), Asked},
		{"WebSearch", tool("WebSearch", "query", "x"), Allowed},
		{"Web", tool("WebSearch", "query", "x"), Asked},
		{"AskUserQuestion", Call{}, Allowed},
		{"Bash", Call{}, Asked},
	} {
		d := Decide(AskUser, Rules{Allow: rules(t, strings.Split(c.rules, "|")...)}, c.call)
		if d.Outcome != c.want {
			t.Errorf("%s: %s %.200s: %s, want %s", c.rules, c.call.Tool, c.call.Input, d.Outcome, c.want)
		}
	}
}

func TestASearchIsNotAllowedIfItMayReadWhatADenyRuleNames(t *testing.T) {
	grep := func(path string) Call { return tool("Grep", "path", path) }
	for _, c := range []struct {
		deny string
		call Call
		want Outcome
	}{
		{"Read(secret/**)", tool("Grep", "pattern", "x"), Asked}, // the work folder
		{"Read(secret/**)", grep("."), Asked},
		{"Read(secret/**)", grep("/srv/repo"), Asked},
		{"Read(secret/**)", grep("/srv"), Asked},
		{"Read(secret/**)", grep("/"), Asked},
		{"Read(secret/**)", grep(".."), Asked},
		{"Read(secret/**)", grep("secret"), Asked},
		{"Read(secret/**)", grep("secret/keys"), Denied},
		{"Read(secret/**)", grep("docs"), Allowed},
		{"Read(secret/**)", grep("/etc"), Allowed},
		{"Read(a/secret/*.key)", grep("a"), Asked},
		{"Read(a/secret/*.key)", grep("a/other"), Allowed},
		{"Read(a/**/*.key)", grep("a/b/c"), Asked},
		{"Read(.env)", grep("docs"), Asked}, // in every folder
		{"Read(/.env)", grep("docs"), Allowed},
		{"Read(//etc/shadow)", grep("/"), Asked},
		{"Read(//etc/shadow)", grep("/etc"), Asked},
		{"Read(//etc/shadow)", grep("/usr"), Allowed},
		{"Read(//srv/repo/secret)", tool("Grep", "pattern", "x"), Asked},
		{"Read(secret/**)", Call{Tool: "Grep", Input: json.RawMessage(`{}`)}, Asked}, // the work folder is unknown
		{"Read(secret/**)", tool("Read", "file_path", "/srv/repo/docs/a"), Allowed},
	} {
		d := Decide(AskUser, Rules{Allow: rules(t, "Read"), Deny: rules(t, c.deny)}, c.call)
		if d.Outcome != c.want {
			t.Errorf("%s: %s %.200s: %s, want %s", c.deny, c.call.Tool, c.call.Input, d.Outcome, c.want)
		}
	}
}

func TestADenyRuleDeniesACallWithOnePartThatItNames(t *testing.T) {
	for _, c := range []struct {
		rule string
		call Call
		want Outcome
	}{
		{"Bash(rm:*)", bash("rm x"), Denied},
		{"Bash(rm:*)", bash("go test && rm x"), Denied},
		{"Bash(rm:*)", bash("go test $(rm x)"), Denied},
		{"Bash(rm:*)", bash("A=1 rm x"), Denied},
		{"Bash(rm:*)", bash("/bin/rm x"), Denied},
		{"Bash(rm:*)", bash(`\rm x`), Denied},
		{"Bash(rm:*)", bash(`r''m x`), Denied},
		{"Bash(rm:*)", bash("sudo -n rm x"), Denied},
		{"Bash(rm:*)", bash("env A=1 /bin/rm x"), Denied},
		{"Bash(rm:*)", bash("find . -exec rm {} +"), Denied},
		{"Bash(rm:*)", bash("ls | xargs rm"), Denied},
		{"Bash(rm:*)", bash("bash -c 'cd x && rm y'"), Denied},
		{"Bash(rm:*)", bash("bash -lc \"sh -c 'rm y'\""), Denied},
		{"Bash(rm:*)", bash("eval rm x"), Denied},
		{"Bash(rm:*)", bash("for f in *; do rm $f; done"), Denied},
		{"Bash(rm:*)", bash("f() { rm x; }; f"), Denied},
		{"Bash(rm:*)", bash("export A=$(rm x)"), Denied},
		{"Bash(rm:*)", bash("case x in x) rm x;; esac"), Denied},
		{"Bash(rm -rf:*)", bash("rm -rf x"), Denied},
		{"Bash(rm -rf:*)", bash("rm x"), Allowed},
		{"Bash(rm:*)", bash("echo rm"), Allowed},
		{"Bash(rm:*)", bash("rmdir x"), Allowed},
		{"Bash(git push)", bash("git push"), Denied},
		{"Bash(git push)", bash("git push origin"), Allowed},
		{"Bash", bash("ls"), Denied},
		{"Edit(.env)", bash("echo x > .env"), Denied},
		{"Edit(.env)", tool("Write", "file_path", "/srv/repo/a/.env"), Denied},
		{"Edit(/.env)", tool("Write", "file_path", "/srv/repo/a/.env"), Allowed},
		{"Edit(src/**)", Call{Tool: "Edit", Dir: "/srv/repo", Input: json.RawMessage(`{"paths":["x","src/b"]}`)}, Denied},
		{"WebFetch(domain:evil.example)", tool("WebFetch", "url", "https://evil.example"), Denied},
		{"mcp__db", tool("mcp__db__drop", "sql", "x"), Denied},

		// It cannot be told whether these contain rm.
		{"Bash(rm:*)", bash("$X -rf x"), Denied},
		{"Bash(rm:*)", bash("$(echo rm) x"), Denied},
		{"Bash(rm:*)", bash("eval \"$X\""), Denied},
		{"Bash(rm:*)", bash("bash -c \"$X\""), Denied},
		{"Bash(rm:*)", bash("r{m,m} x"), Denied},
		{"Bash(rm:*)", bash("ls 'x"), Denied},
		{"Bash(git push:*)", bash("git $X origin"), Denied},
		{"Edit(.env)", bash("echo x > $F"), Denied},
		{"Bash(rm:*)", bash("env " + strings.Repeat("A=1 ", 1000) + "rm x"), Denied},
		{"Edit(.env)", bash("cd a; echo x > .env"), Denied},
	} {
		d := Decide(AllowOthers, Rules{Deny: rules(t, c.rule)}, c.call)
		if d.Outcome != c.want {
			t.Errorf("%s: %s: %s, want %s", c.rule, c.call.Input, d.Outcome, c.want)
		}
		if d.Outcome == Denied && (d.By(AllowOthers) != "rule "+c.rule || !strings.Contains(d.Reason(), c.rule)) {
			t.Errorf("%s: by %q, because %q", c.call.Input, d.By(AllowOthers), d.Reason())
		}
	}
}

func TestThePolicyDecidesWhatNoRuleDecides(t *testing.T) {
	set := Rules{Allow: rules(t, "Bash(go test:*)", "Bash(git:*)"), Deny: rules(t, "Bash(rm:*)"), Ask: rules(t, "Bash(git push:*)")}
	want := map[string][4]Outcome{ // by ask, rules, allow, deny
		"go test":      {Allowed, Allowed, Allowed, Denied},
		"git log":      {Allowed, Allowed, Allowed, Denied},
		"git push":     {Asked, Asked, Asked, Denied},
		"rm x":         {Denied, Denied, Denied, Denied},
		"git push; rm": {Denied, Denied, Denied, Denied},
		"ls":           {Asked, Denied, Allowed, Denied},
		"ls 'x":        {Asked, Denied, Denied, Denied},
	}
	for command, outcomes := range want {
		for i, p := range []Policy{AskUser, RulesOnly, AllowOthers, DenyAll} {
			if d := Decide(p, set, bash(command)); d.Outcome != outcomes[i] {
				t.Errorf("%s, %s: %s, want %s", p, command, d.Outcome, outcomes[i])
			}
		}
	}
	if d := Decide(RulesOnly, set, bash("ls")); d.By(RulesOnly) != "policy rules" || !strings.Contains(d.Reason(), "no rule allows it") {
		t.Errorf("by %q, because %q", d.By(RulesOnly), d.Reason())
	}
	if d := Decide(RulesOnly, set, bash("go test && git log")); d.By(RulesOnly) != "rule Bash(go test:*), Bash(git:*)" {
		t.Errorf("by %q", d.By(RulesOnly))
	}
}

func TestAGrantAnswersAnAskRuleThatIsNotNarrower(t *testing.T) {
	for _, c := range []struct {
		grant, ask string
		call       Call
		want       Outcome
	}{
		{"Bash(git push:*)", "Bash(git push:*)", bash("git push origin"), Allowed},
		{"Bash(git push origin)", "Bash(git push:*)", bash("git push origin"), Allowed},
		{"Bash(git:*)", "Bash(git push:*)", bash("git push origin"), Asked},
		{"Bash(git push:*)", "Bash(git push)", bash("git push"), Asked},
		{"Bash(git push:*)", "Bash", bash("git push"), Allowed},
		{"Bash", "Bash", bash("git push 'x"), Allowed},
		{"Bash", "Bash(git push:*)", bash("git push"), Asked},
		{"Bash(cd x && git push)", "Bash(git push:*)", bash("cd x && git push"), Allowed},
		{"Bash(git push:*)", "Bash(git push:*)", bash("cd x && git push"), Asked}, // nobody allows cd
		{"WebFetch(domain:go.dev)", "WebFetch", tool("WebFetch", "url", "https://go.dev"), Allowed},
	} {
		grant := rules(t, c.grant)
		grant[0].Grant = true
		set := Rules{Allow: grant, Ask: rules(t, c.ask)}
		d := Decide(AskUser, set, c.call)
		if d.Outcome != c.want {
			t.Errorf("grant %s, ask %s: %s: %s, want %s", c.grant, c.ask, c.call.Input, d.Outcome, c.want)
		}
		if d.Outcome == Allowed && d.By(AskUser) != "grant "+c.grant {
			t.Errorf("by %q", d.By(AskUser))
		}
		set.Deny = rules(t, c.call.Tool)
		if d := Decide(AskUser, set, c.call); d.Outcome != Denied {
			t.Errorf("a grant overrides a deny rule: %v", d)
		}
	}
}

func TestTextsThatAreNoRulesAreRefusedWithTheReason(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "is empty",
		"Bash(":                "want a tool",
		"Bash()":               "empty pattern",
		"go test":              "want a tool",
		"Bash(:*)":             "one command",
		"Bash(git * main)":     "only at the end",
		"Bash(a && b:*)":       "one simple command",
		"Bash(a > b:*)":        "one simple command",
		"Bash($X:*)":           "the shell replaces",
		"Bash('a:*)":           "gaffer can read",
		"Write(src/**)":        "Edit(src/**)",
		"Grep(src/**)":         "Read(src/**)",
		"Edit(~/x)":            "~ is not supported",
		"Edit(../x)":           "not a pattern",
		"Edit([)":              "not a pattern",
		"Edit(/)":              "names no path",
		"WebFetch(go.dev)":     "domain:HOST",
		"WebFetch(domain:a/b)": "not the name of a host",
		"Skill(x)":             "takes no pattern",
		"mcp__db__query(x)":    "takes no pattern",
		"Bash(\x1b[2J)":        "not text",
		"Bash(" + strings.Repeat("x", MaxRule) + ")": "bytes",
	} {
		_, err := Parse(text)
		var wrong *RuleError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want an error with %q", text, err, want)
		}
	}
}

func TestSuggestedRulesAllowTheCall(t *testing.T) {
	for _, c := range []struct {
		call Call
		want []string
	}{
		{bash("go test ./x"), []string{"Bash(go test ./x)", "Bash(go test:*)"}},
		{bash("npm run lint -- --fix"), []string{"Bash(npm run lint -- --fix)", "Bash(npm run lint:*)"}},
		{bash("rm -rf x"), []string{"Bash(rm -rf x)"}},
		{bash("cd x && go test"), []string{"Bash(cd x && go test)"}},
		{bash("ls (a)"), []string{"Bash(ls (a))"}},
		{bash("ls *.go"), nil},
		{bash("git diff *"), []string{"Bash(git diff:*)"}}, // there is no rule for exactly this text
		{tool("Write", "file_path", "/srv/repo/src/a.go"), []string{"Edit(src/a.go)", "Edit(src/**)"}},
		{tool("Write", "file_path", "a[1].go"), []string{`Edit(/a\[1].go)`}},
		{tool("Read", "file_path", "/etc/hosts"), []string{"Read(//etc/hosts)", "Read(//etc/**)"}},
		{tool("WebFetch", "url", "https://go.dev/x"), []string{"WebFetch(domain:go.dev)"}},
		{tool("mcp__db__query", "sql", "x"), []string{"mcp__db__query"}},
		{Call{}, nil},
	} {
		got := Suggest(c.call)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.call.Input, got, c.want)
		}
		for _, r := range got {
			if d := Decide(RulesOnly, Rules{Allow: rules(t, r)}, c.call); d.Outcome != Allowed {
				t.Errorf("%s: the suggested rule %s does not allow it", c.call.Input, r)
			}
		}
	}
}

func TestTheScriptOfAShellCallIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"bash -lc 'go test ./...'":          "go test ./...",
		`/usr/bin/zsh -c "echo 'a b'"`:      "echo 'a b'",
		`/bin/sh -c 'echo '\''x'\'' && ls'`: "echo 'x' && ls",
		"./bash -c ls":                      "",
		"/tmp/bash -c ls":                   "",
		"bash -c \"$X\"":                    "",
		"bash -c ls; rm x":                  "",
		"A=1 bash -c ls":                    "",
		"bash -c ls > x":                    "",
		"bash -c ls arg":                    "",
		"bash -x ls":                        "",
		"":                                  "",
	} {
		if got, ok := Script(text); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", text, got, ok, want)
		}
	}
}

// FuzzARuleNeverAllowsAPartThatItDoesNotName checks the decision about a command against a second,
// simpler reading of it: each command in its syntax tree must begin with go test.
func FuzzARuleNeverAllowsAPartThatItDoesNotName(f *testing.F) {
	for _, s := range []string{
		"go test", "go test && rm x", "go test $(rm x)", "go test `rm`", "go test > x", "PATH=x go test", "if go test; then rm; fi", "go test ${a[$(rm)]}",
		"go test <<E\n$(rm)\nE", "go test @(a|$(rm))", "go test 'x", "g\\o test", "go test $((a[$(rm)]))", "for go in a; do go test; done", "go() { rm; }; go test",
		"go test <(rm)", "bash -c 'rm'", "[[ a ]] && go test", "go te{s,}t", "go \"te\"st|go test&go test",
	} {
		f.Add(s)
	}
	allow := rules(f, "Bash(go test:*)")
	f.Fuzz(func(t *testing.T, command string) {
		d := Decide(RulesOnly, Rules{Allow: allow}, bash(command))
		if d.Outcome != Allowed || !utf8.ValidString(command) { // JSON cannot contain other text
			return
		}
		file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
		if err != nil {
			t.Fatalf("%q is allowed and cannot be parsed: %v", command, err)
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CallExpr:
				var text strings.Builder
				for _, w := range n.Args {
					_ = syntax.NewPrinter().Print(&text, w)
					text.WriteString(" ")
				}
				plain := strings.NewReplacer(`"`, "", `'`, "", `\`, "", "\n", "").Replace(text.String())
				if len(n.Assigns) > 0 || !strings.HasPrefix(plain, "go test ") {
					t.Errorf("%q is allowed and contains %q", command, text.String())
				}
			case *syntax.FuncDecl, *syntax.DeclClause, *syntax.ForClause, *syntax.LetClause, *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.TestClause, *syntax.CoprocClause, *syntax.CaseClause, *syntax.ExtGlob:
				t.Errorf("%q is allowed and contains a %T", command, n)
			case *syntax.Redirect:
				switch n.Op {
				case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.DplIn, syntax.DplOut:
				default:
					if target := n.Word.Lit(); path.Dir(target) != "/dev" && !strings.ContainsAny(command, `"'\`) {
						t.Errorf("%q is allowed and reads or writes %q", command, target)
					}
				}
			}
			return true
		})
	})
}

// FuzzADeniedPartDenies checks that a deny rule holds wherever its command is put.
func FuzzADeniedPartDenies(f *testing.F) {
	for _, s := range []string{"ls", "ls |", "(ls", "a=1", "x $(", "{ ls; }", "if ls; then"} {
		f.Add(s, "")
	}
	f.Add("x $(", ")")
	f.Add("if ls; then ", "; fi")
	deny, allow := rules(f, "Bash(rm:*)"), rules(f, "Bash")
	f.Fuzz(func(t *testing.T, before, after string) {
		command := before + "rm x" + after
		d := Decide(AllowOthers, Rules{Deny: deny, Allow: allow}, bash(command))
		if d.Outcome == Denied || !utf8.ValidString(command) { // JSON cannot contain other text
			return
		}
		file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
		if err != nil {
			t.Fatalf("%q is not denied and cannot be parsed", command)
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == "rm" {
				t.Errorf("%q is %s", command, d.Outcome)
			}
			return true
		})
	})
}
