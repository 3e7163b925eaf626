package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gaffer/internal/cli/env"
	"gaffer/internal/config"
	"gaffer/internal/exit"
)

var update = flag.Bool("update", false, "rewrite the pages of docs/reference; read the diff")

// checkPage compares a page of docs/reference with the text that is generated from the code. With
// -update, it writes the page.
func checkPage(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("..", "..", "docs", "reference", name)
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil || string(page) != text {
		t.Errorf("docs/reference/%s differs from the code (%v): go test ./internal/cli -run Reference -update", name, err)
	}
}

// cell returns a text for a cell of a Markdown table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

// code returns a text as inline code, or "" for an empty text.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// prose returns a text for a cell of a table in which stars are stars and not italic text.
func prose(text string) string { return strings.ReplaceAll(cell(text), "*", `\*`) }

// angle finds words in angle brackets, which Markdown takes for HTML outside of code.
var angle = regexp.MustCompile(`<([^<>\s]+)>`)

func TestTheReferenceHasEveryCommandAndFlag(t *testing.T) {
	root := newRoot(&env.Env{Getenv: func(string) string { return "" }})
	var b strings.Builder
	b.WriteString("# Commands\n\nEvery command with its flags, as `gaffer COMMAND --help` prints them. This page is generated from the program; " +
		"[commands](../commands.md) is the overview by what you want to do.\n\n## Flags of every command\n\n")
	writeFlags(t, &b, "gaffer", root.PersistentFlags())
	for _, group := range root.Groups() {
		fmt.Fprintf(&b, "\n## %s\n", group.Title)
		for _, cmd := range root.Commands() {
			if cmd.GroupID == group.ID {
				writeCommand(t, &b, cmd)
			}
		}
	}
	b.WriteString("\n## Help\n")
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			writeCommand(t, &b, cmd)
		}
	}
	checkPage(t, "commands.md", b.String())
}

func writeCommand(t *testing.T, b *strings.Builder, cmd *cobra.Command) {
	if cmd.Hidden && cmd.Name() != "help" {
		return
	}
	path := cmd.CommandPath()
	if strings.TrimSpace(cmd.Short) == "" {
		t.Errorf("%s has no text", path)
	}
	fmt.Fprintf(b, "\n### %s\n\n%s.\n\n`%s`\n", path, angle.ReplaceAllString(cmd.Short, "`<$1>`"), usageLine(cmd))
	if cmd.Long != "" {
		b.WriteString("\n```text\n")
		for _, line := range strings.Split(strings.Trim(cmd.Long, "\n"), "\n") {
			b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
		}
		b.WriteString("```\n")
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(b, "\nAlso called: %s.\n", strings.Join(cmd.Aliases, ", "))
	}
	if cmd.HasAvailableLocalFlags() {
		b.WriteString("\n")
		writeFlags(t, b, path, cmd.LocalFlags())
	}
	if cmd.Example != "" {
		b.WriteString("\n```text\n")
		for _, line := range strings.Split(strings.Trim(cmd.Example, "\n"), "\n") {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		b.WriteString("```\n")
	}
	for _, sub := range cmd.Commands() {
		writeCommand(t, b, sub)
	}
}

func writeFlags(t *testing.T, b *strings.Builder, command string, flags *pflag.FlagSet) {
	b.WriteString("| flag | what it does |\n| --- | --- |\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		if strings.TrimSpace(usage) == "" {
			t.Errorf("%s --%s has no text", command, f.Name)
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + value
		}
		if !slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.DefValue) {
			usage += " (default " + code(f.DefValue) + ")"
		}
		fmt.Fprintf(b, "| %s | %s |\n", code(strings.ReplaceAll(name, "|", `\|`)), angle.ReplaceAllString(prose(usage), "`<$1>`"))
	})
}

func TestTheReferenceHasEveryExitCode(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Exit codes\n\n`gaffer help exit-codes` prints this table. Scripts may rely on the numbers: a code may be added, but the meaning of an " +
		"existing code never changes.\n\n| code | name | meaning |\n| --- | --- | --- |\n")
	row := regexp.MustCompile(`^ +(\d+) +(\S+) *(.*)$`)
	rows := 0
	for line := range strings.Lines(exit.Table()) {
		m := row.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil || m[3] == "" {
			t.Errorf("an exit code has no text: %q", line)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m[1], code(m[2]), cell(m[3]))
		rows++
	}
	if declared := constants(t, "../exit/codes.go", "Code"); len(declared) != rows {
		t.Errorf("%d exit codes are declared, and the table has %d", len(declared), rows)
	}
	b.WriteString("\nErrors are printed to stderr. With `--json` an error is one line of JSON. Its `code` is the name in the table:\n\n" +
		"```json\n{\"error\":{\"code\":\"not_found\",\"message\":\"…\",\"hint\":\"…\"}}\n```\n")
	checkPage(t, "exit-codes.md", b.String())
}

// sectionKeys describes the settings whose names the user chooses in part.
var sectionKeys = []struct {
	section, about, file string // file declares the keys as yaml tags
	own                  bool
	keys                 [][2]string
}{
	{"agents.NAME", "An agent of your own, or another way to start one that gaffer knows ([agents](../agents.md)).", "../attempt/agent/custom.go", false, [][2]string{
		{"like", "the built-in agent whose arguments and output it has; without it the agent of the same name, else `command`"},
		{"argv", "the program and its first arguments"},
		{"env", "variables of its environment, each a text or a reference to a secret"},
		{"prompt", "how the program gets the prompt: `stdin`, `argument` or `file`"},
		{"markers", "regular expressions for lines of its output, if it is `like: command`"},
		{"markers.waiting", "a line that asks the user; the first group is the question"},
		{"markers.rate_limit", "a line that reports a rate limit; a group named `reset` says when it ends"},
		{"markers.done", "a line that reports success; with it, exit code 0 alone is no success"},
		{"markers.failed", "a line that reports a failure, whatever the exit code"},
	}},
	{"accounts.NAME", "An account of an agent program ([accounts](../accounts.md)).", "../config/accounts.go", true, [][2]string{
		{"agent", "the agent that uses the account"},
		{"config", "the config folder of the program, absolute or from `~/`"},
		{"env", "variables with the account's key, each a text or a reference to a secret"},
		{"reserve", "`true`: used only while all other accounts of the agent are paused"},
		{"budget", "what the account may cost"},
		{"budget.day", "US dollars in a day"},
		{"budget.month", "US dollars in a month"},
	}},
	{"sources.NAME", "A source that `gaffer serve` watches ([sources](../sources.md)).", "../config/sources.go", true, [][2]string{
		{"from", "the source, such as `gh:ada/shop label:agent`"},
		{"plan", "the file with the defaults of the tasks, from the project's folder"},
		{"project", "the project in which the runs work, an absolute path; without it the server's"},
		{"every", "how often the server looks, 10s at least; without it 10m"},
		{"limit", "how many items a run takes at most"},
	}},
}

func TestTheReferenceHasEverySetting(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Settings

A setting comes from the first of these places that has it: a flag (` + "`--set KEY=VALUE`" + `, or its own flag), an environment variable,
` + "`gaffer.yaml`" + ` at the project's root, ` + "`gaffer.yaml`" + ` in your configuration folder, the default. The variable of ` + "`paths.team`" + ` is
` + "`GAFFER_PATHS_TEAM`" + `, and so on for each key. ` + "`gaffer config`" + ` shows every value and where it came from.

A setting with "no" in the column "project" is not allowed in a project's file: there it could run programs, send data elsewhere, or
answer for you ([security](../security.md)).

## Types

| type | values |
| --- | --- |
`)
	kinds := constants(t, "../config/kind.go", "Kind")
	for _, k := range kinds {
		if k.comment == "" {
			t.Errorf("the type %s of settings has no text", k.name)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", strings.ToLower(k.name), cell(k.comment))
	}
	list := func(title string, keys []config.Key) {
		fmt.Fprintf(&b, "\n## %s\n\n| key | type | default | project | what it is |\n| --- | --- | --- | --- | --- |\n", title)
		for _, k := range keys {
			if strings.TrimSpace(k.Doc) == "" || strings.TrimSpace(k.Example) == "" {
				t.Errorf("the setting %s has no text or no example", k.Name)
			}
			project := "yes"
			if k.Own {
				project = "no"
			}
			kind := strings.ToLower(kinds[k.Kind].name)
			if k.Kind == config.Number {
				kind += fmt.Sprintf(", %d to %d", k.Min, k.Max)
			}
			text := k.Usage()
			if k.Flag != "" {
				text += "; flag `--" + k.Flag + "`"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s; example %s |\n", code(k.Name), kind, code(cell(k.Default)), project, prose(text), code(cell(k.Example)))
		}
	}
	const general = "General"
	sections, bySection := []string{general}, map[string][]config.Key{}
	for _, k := range config.Keys() {
		section, _, nested := strings.Cut(k.Name, ".")
		if !nested {
			section = general
		}
		if !slices.Contains(sections, section) {
			sections = append(sections, section)
		}
		bySection[section] = append(bySection[section], k)
	}
	for _, section := range sections {
		list(section, bySection[section])
	}
	for _, role := range config.TeamRoles() {
		list("team.roles."+role, config.RoleKeys(role))
	}
	for _, s := range sectionKeys {
		project := "also in a project's file"
		if s.own {
			project = "only in your own file"
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s It is allowed %s.\n\n| key | what it is |\n| --- | --- |\n", s.section, s.about, project)
		var described []string
		for _, key := range s.keys {
			described = append(described, key[0][strings.LastIndexByte(key[0], '.')+1:])
			fmt.Fprintf(&b, "| %s | %s |\n", code(key[0]), key[1])
		}
		for _, tag := range yamlTags(t, s.file) {
			if !slices.Contains(described, tag) {
				t.Errorf("the setting %s.%s has no text", s.section, tag)
			}
		}
	}
	checkPage(t, "settings.md", b.String())
}
