package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/attacks.md; read the diff")

const preamble = `# Attacks

` + "`test/hostile`" + ` is an agent that attacks gaffer. Its test starts it as the agent of a task, once for each attack, and decides from
outside what came of it: with control groups, and without them (` + "`GAFFER_CGROUPS=off`" + `). This table is made from the one of the test
(` + "`go test ./test/hostile -run Table -update`" + `); the test fails if an attack has another outcome than here, also if it is a better one.
The tests run as root without ` + "`" + `CAP_SYS_RESOURCE` + "`" + `, as in a container. [Security](security.md) has the promises behind the table.

| outcome | meaning |
| --- | --- |
| prevented | it has no effect, or gaffer undoes the effect |
| refused | gaffer refuses it, and says so in the output that becomes the attempt's log |
| only recorded | it has an effect, and gaffer shows that with its cause |
| not prevented | it has an effect that gaffer does not undo: one of the [limits](security.md#limits) |

No task had two live attempts at any time. After every attack ` + "`gaffer status`" + ` works, and an honest run
in the same state folder completes. After those that are prevented or refused, no process of them is left.

| attack | what it tries | with control groups | without | what protects, or what would |
| --- | --- | --- | --- | --- |
`

func rendered() string {
	var b strings.Builder
	b.WriteString(preamble)
	for _, a := range attacks {
		b.WriteString("| `" + a.name + "` | " + strings.Join([]string{a.tries, string(a.with), string(a.without), a.because}, " | ") + " |\n")
	}
	return b.String()
}

func TestSecurityTheTableInTheDocumentationIsTheTestedOne(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "attacks.md")
	if *update {
		if err := os.WriteFile(page, []byte(rendered()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != rendered() {
		t.Errorf("docs/attacks.md differs from the table in attacks.go: go test ./test/hostile -run Table -update")
	}
}

func TestSecurityEachAttackThatIsNotPreventedIsADocumentedLimit(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range attacks {
		isLimit := a.with == limit || a.without == limit
		if isLimit != (a.section != "") {
			t.Errorf("%s: the outcomes are %s and %s, and the section is %q", a.name, a.with, a.without, a.section)
		}
		if !isLimit {
			continue
		}
		_, section, found := strings.Cut(string(data), "\n## "+a.section+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !found || !strings.Contains(section, "`"+a.name+"`") {
			t.Errorf("security.md does not name %s in its section %q", a.name, a.section)
		}
	}
}

func TestSecurityEachAttackIsOneRowWithAReason(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range attacks {
		if seen[a.name] || a.tries == "" || a.because == "" || a.try == nil {
			t.Errorf("the row of %s is not complete, or there are two", a.name)
		}
		seen[a.name] = true
	}
	if len(attacks) < 30 {
		t.Errorf("there are %d attacks, want 30 at least", len(attacks))
	}
}
