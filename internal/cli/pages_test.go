package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
)

var inlineCommand = regexp.MustCompile("`gaffer ([a-z][^`]*)`")

// TestEveryCommandAndFlagInTheTextOfAPageExists checks each `gaffer …` in the text and the tables
// of README and docs. Tests in test/docs run the fenced code blocks.
func TestEveryCommandAndFlagInTheTextOfAPageExists(t *testing.T) {
	found := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*/README.md", "integrations/*.md", "integrations/*/README.md"} {
		pages, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(pages), err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(text), "\n") {
				for _, m := range inlineCommand.FindAllStringSubmatch(line, -1) {
					found++
					if problem := unknownWord(strings.Fields(strings.ReplaceAll(m[1], `\|`, "|"))); problem != "" {
						t.Errorf("%s:%d: `gaffer %s`: %s", page, i+1, m[1], problem)
					}
				}
			}
		}
	}
	if found < 200 {
		t.Errorf("only %d commands were found", found)
	}
}

var flagInText = regexp.MustCompile(`^\[?(--?)([a-z][a-z-]*)`)

// unknownWord returns the first command or flag in a command line that does not exist, or "". It
// ignores arguments. In documentation, a·b stands for the commands a and b.
func unknownWord(words []string) string {
	cmd := newRoot(&env.Env{})
	if slices.Contains([]string{"fake-agent", "supervise", "pane"}, words[0]) {
		return "" // gaffer itself starts these commands, see direct.go
	}
	if words[0] == "help" {
		words = words[1:]
		if len(words) > 0 && words[0] == topicTopics {
			words = words[1:]
		}
		if len(words) == 0 || words[0] == "TOPIC" || words[0] == "COMMAND" {
			return ""
		}
		if _, ok := findTopic(words[0]); ok {
			return ""
		}
	}
	for i, word := range words {
		if slices.Contains([]string{"|", "&&", ">", "<", "--"}, word) {
			return ""
		}
		if m := flagInText.FindStringSubmatch(word); m != nil {
			known := cmd.Flags().Lookup(m[2]) != nil || cmd.InheritedFlags().Lookup(m[2]) != nil || m[2] == "help"
			if m[1] == "-" {
				known = cmd.Flags().ShorthandLookup(m[2][:1]) != nil
			}
			if !known {
				return fmt.Sprintf("%s has no flag %s%s", cmd.CommandPath(), m[1], m[2])
			}
			continue
		}
		names := strings.Split(word, "·")
		at := subcommand(cmd, names[len(names)-1])
		switch {
		case len(names) > 1:
			for _, name := range names {
				if subcommand(cmd, name) == nil && strings.ToLower(name) == name {
					return fmt.Sprintf("%s has no command %s", cmd.CommandPath(), name)
				}
			}
		case at != nil:
			cmd = at
		case i == 0:
			return "there is no command " + word
		}
	}
	return ""
}

func subcommand(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			return c
		}
	}
	return nil
}
