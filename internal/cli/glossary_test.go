package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
)

// rule describes a word that gaffer does not use for its own things. The word may occur in the
// commands and pages of the protocol that defines it, and in a line that names the protocol.
type rule struct {
	word     *regexp.Regexp
	say      string
	commands []string       // commands that may use the word, such as "session"
	pages    []string       // pages of docs/ and of the dashboard that may use the word
	with     *regexp.Regexp // a line that matches may use the word, because it names the protocol
}

var rules = []rule{
	{
		regexp.MustCompile(`(?i)\bbeads?\b`), "task",
		[]string{"dispatch", "attach", "poll", "templates", "report", "validate", "schema"},
		[]string{"dispatch.md", "report.md", "plans.md", "sources.md", "users/swarm.md", "records/record.js", "records/report.js", "pages/records.js"},
		regexp.MustCompile(`(?i)--format|dispatch|ledger|` + "`beads?`" + `|beads\.|bd |plan formats?|bead'?s? (file|list|export)`),
	},
	{
		regexp.MustCompile(`(?i)\bchunks?\b`), "task",
		[]string{"build", "emit", "state", "step", "validate", "schema", "statusline"},
		[]string{"builds.md", "statusline.md", "users/fctry.md", "pages/build.js"},
		regexp.MustCompile(`(?i)\bbuil[dt]|\.fctry|workflow`),
	},
	{
		regexp.MustCompile(`(?i)\bwaves?\b`), "stage",
		[]string{"session", "validate", "schema"},
		[]string{"users/founder-mode.md", "plans.md", "pages/sessions.js", "run/task.js"},
		regexp.MustCompile("(?i)session|`wave`|phase|orchestrat"),
	},
	{
		regexp.MustCompile(`(?i)\bgroups?\b`), "task",
		[]string{"team", "validate", "schema"},
		[]string{"team.md", "team-roles.md", "users/v4.md", "pages/team.js"},
		regexp.MustCompile(`(?i)\bteam|expression|group named|by agent|(control|process) group|GROUP BY`),
	},
	{
		regexp.MustCompile(`(?i)\bsteps?\b`), "task",
		[]string{"step", "command", "state", "emit", "build", "mcp", "statusline"},
		[]string{"builds.md", "statusline.md", "mcp.md", "users/fctry.md", "team.md", "team-roles.md", "pages/build.js"},
		regexp.MustCompile(`(?i)\bworkflow|\.fctry|\bstep in\b|team`),
	},
	{word: regexp.MustCompile(`(?i)\bjobs?\b`), say: "run or task"},
	{word: regexp.MustCompile(`(?i)\b(the|all|each|every|open|an|of|first|last) (asks?|asides?)\b`), say: "question"},
	{word: regexp.MustCompile(`(?i)\b(the|all|each|every|first|last|second|several|an?) (try|tries)\b`), say: "attempt"},
	{word: regexp.MustCompile(`(?i)\b(subtasks?|sittings?|minions?|bots?)\b`), say: "task or agent"},
}

// foreign returns the words of a text that gaffer does not use, each with its line. It leaves out
// words that allowed permits.
func foreign(text string, allowed func(rule) bool) (found []string) {
	for _, line := range strings.Split(text, "\n") {
		for _, r := range rules {
			word := r.word.FindString(line)
			if word == "" || allowed(r) || r.with != nil && r.with.MatchString(line) {
				continue
			}
			found = append(found, word+" (say "+r.say+"): "+strings.TrimSpace(line))
		}
	}
	return found
}

func TestHelpUsesOurWordsOutsideTheCommandsOfAProtocol(t *testing.T) {
	seen := 0
	root := newRoot(&env.Env{Getenv: func(string) string { return "" }})
	isCommand := func(word string) bool {
		return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !cmd.Hidden {
			var out bytes.Buffer
			printHelp(&out, cmd)
			path := append(strings.Fields(cmd.CommandPath()), "")
			for _, line := range strings.Split(out.String(), "\n") {
				// Skip a line that consists only of command names. In other lines of a list, the
				// first word is a command name.
				first := append(strings.Fields(line), "")[0]
				if !slices.ContainsFunc(strings.Fields(line), func(word string) bool { return !isCommand(word) }) {
					continue
				}
				allowed := func(r rule) bool { return slices.Contains(r.commands, path[1]) || slices.Contains(r.commands, first) }
				for _, problem := range foreign(line, allowed) {
					t.Errorf("%s: %s", cmd.CommandPath(), problem)
				}
			}
			seen++
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if seen < 60 {
		t.Errorf("only %d commands have help", seen)
	}
}

func TestUserPagesUseOurWordsOutsideThePagesOfAProtocol(t *testing.T) {
	root := filepath.Join("..", "..", "docs")
	seen := 0
	for _, pattern := range []string{"*.md", "users/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, _ := filepath.Rel(root, file)
			if slices.Contains([]string{"glossary.md", "tests.md", "proof.md"}, name) { // the glossary explains these words; the others are for contributors
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range foreign(string(data), func(r rule) bool { return slices.Contains(r.pages, name) }) {
				t.Errorf("docs/%s: %s", name, problem)
			}
			seen++
		}
	}
	if seen < 20 {
		t.Errorf("only %d pages are there", seen)
	}
}

var (
	quoted   = regexp.MustCompile(`'([^'\n]* [^'\n]*)'`)
	template = regexp.MustCompile("(?s)`[^`]*`")
	hole     = regexp.MustCompile(`\$\{[^{}]*\}`)
	tag      = regexp.MustCompile(`<[^>]*>`)
	comment  = regexp.MustCompile(`(?m)^\s*//.*$|/\*\*?.*?\*/`)
)

// shown returns the texts in a JavaScript module that a user may see: strings of several words, and
// template literals without code and tags.
func shown(module string) (texts []string) {
	module = comment.ReplaceAllString(module, "")
	for _, m := range quoted.FindAllStringSubmatch(module, -1) {
		texts = append(texts, m[1])
	}
	for _, text := range template.FindAllString(module, -1) {
		for before := ""; before != text; {
			before, text = text, hole.ReplaceAllString(text, "…")
		}
		texts = append(texts, strings.Split(tag.ReplaceAllString(strings.Trim(text, "`"), "\n"), "\n")...)
	}
	return texts
}

func TestTheDashboardUsesOurWordsOutsideThePagesOfAProtocol(t *testing.T) {
	root := filepath.Join("..", "ui", "dashboard", "page")
	files, err := filepath.Glob(filepath.Join(root, "*", "*.js"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d modules, %v", len(files), err)
	}
	seen := 0
	for _, file := range files {
		name, _ := filepath.Rel(root, file)
		if filepath.Dir(name) == "lib" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range shown(string(data)) {
			if strings.ContainsAny(text, "{}=[;") { // skip code
				continue
			}
			seen++
			for _, problem := range foreign(text, func(r rule) bool { return slices.Contains(r.pages, name) }) {
				t.Errorf("%s: %s", name, problem)
			}
		}
	}
	if seen < 300 {
		t.Errorf("only %d texts were found", seen)
	}
}

func TestHelpWordsSaysWhatTheGlossarySays(t *testing.T) {
	var out bytes.Buffer
	e := &env.Env{Out: &out, Getenv: func(string) string { return "" }}
	if code := Run(t.Context(), e, []string{"help", "words"}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(strings.NewReplacer("`", "", "## ", "", "# ", "").Replace(string(page))), " ")
	if got := strings.Join(strings.Fields(out.String()), " "); got != flat {
		t.Errorf("help says\n%s\nthe page says\n%s", got, flat)
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	for _, word := range []string{"run", "task", "attempt", "worker", "agent", "question"} {
		if !strings.Contains(out.String(), "\n\n"+word+"\n  ") {
			t.Errorf("%s is not explained:\n%s", word, out.String())
		}
	}
}
