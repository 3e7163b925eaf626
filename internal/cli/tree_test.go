package cli

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"gaffer/docs"
	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
)

func TestEveryCommandSaysWhatItDoesAndShowsAnExample(t *testing.T) {
	walk(newRoot(&env.Env{}), func(cmd *cobra.Command) {
		if cmd.HasParent() && strings.TrimSpace(cmd.Short) == "" {
			t.Errorf("%s: no Short", cmd.CommandPath())
		}
		if cmd.Runnable() && !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s: no Example that runs it", cmd.CommandPath())
		}
		if strings.HasSuffix(cmd.Short, ".") && cmd.HasParent() {
			t.Errorf("%s: Short ends with a full stop", cmd.CommandPath())
		}
	})
}

func TestEveryCommandReturnsItsErrors(t *testing.T) {
	walk(newRoot(&env.Env{}), func(cmd *cobra.Command) {
		if cmd.Run != nil {
			t.Errorf("%s: has Run, want RunE", cmd.CommandPath())
		}
	})
}

func TestEveryCommandAtTheTopHasAGroup(t *testing.T) {
	for _, cmd := range newRoot(&env.Env{}).Commands() {
		if cmd.GroupID == "" && cmd.Name() != "help" && !isTopic(cmd) {
			t.Errorf("%s: no group", cmd.CommandPath())
		}
	}
}

func TestEveryCommandThatTakesARunOrATaskCompletesIt(t *testing.T) {
	takes := regexp.MustCompile(`\b(RUN|TASK)\b`)
	walk(newRoot(&env.Env{}), func(cmd *cobra.Command) {
		_, args, _ := strings.Cut(cmd.Use, " ")
		if takes.MatchString(args) && cmd.ValidArgsFunction == nil {
			t.Errorf("%s: completes nothing", cmd.CommandPath())
		}
	})
}

func TestAWordThatIsNoCommandIsRefusedAtEveryLevel(t *testing.T) {
	for line, want := range map[string]string{
		"fish bait":        `unknown command "bait" for "gaffer fish"`,
		"fish bait --json": `unknown command "bait" for "gaffer fish"`,
		"fish cach":        `unknown command "cach" for "gaffer fish"`,
		"fish catch":       "missing WHAT: usage is gaffer fish catch WHAT",
		"fish catch a b":   `unexpected argument "b": usage is gaffer fish catch WHAT`,
	} {
		fish := &cobra.Command{Use: "fish"}
		fish.AddCommand(&cobra.Command{
			Use: "catch WHAT", Args: cobra.ExactArgs(1),
			RunE: func(*cobra.Command, []string) error { return nil },
		})
		root := &cobra.Command{Use: "gaffer", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(fish)
		started := rejectMistakes(root)
		root.SetArgs(strings.Fields(line))
		cmd, err := root.ExecuteC()
		if err = usageError(cmd, err); *started || err.Error() != want || exit.Of(err) != exit.CodeUsage {
			t.Errorf("%s: started %v, %v; want %s", line, *started, err, want)
		}
	}
}

func TestAnInterruptedCommandEndsWith130(t *testing.T) {
	var stderr bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e := &env.Env{Out: brokenPipe{}, Err: &stderr, Getenv: func(string) string { return "" }}
	if code := Run(ctx, e, []string{"version"}); code != int(exit.CodeInterrupted) {
		t.Errorf("code %d, want 130", code)
	}
	if got, want := stderr.String(), "gaffer: interrupted: pipe broke\n"; got != want {
		t.Errorf("stderr %q, want %q", got, want)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("pipe broke") }

// notTopics lists the pages of docs that are no help topic: pages for contributors, and pages that
// the program has in another form.
var notTopics = []string{
	"README.md", "attacks.md", "benchmarks.md", "chaos.md", "commands.md", "comparison.md", "install.md", "proof.md", "scale.md", "team-roles.md", "tests.md",
}

func TestEveryGuidePageIsATopicWithAText(t *testing.T) {
	files, err := docs.Pages.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !file.IsDir() && !slices.Contains(notTopics, file.Name()) && !slices.ContainsFunc(topics, func(t topic) bool { return t.page == file.Name() }) {
			t.Errorf("docs/%s is no topic of 'gaffer help'", file.Name())
		}
	}
	for _, topic := range topics {
		if _, err := docs.Pages.ReadFile(topic.page); err != nil || topic.about == "" {
			t.Errorf("topic %s: text %q, %v", topic.name, topic.about, err)
		}
	}
}
