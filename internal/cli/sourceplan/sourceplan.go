// Package sourceplan makes a plan from the items of a source, such as GitHub issues, for the
// commands that have the flag --from.
package sourceplan

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/flow/source"
	"gaffer/internal/plan"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// Flags holds the values of --from and of the flags that can be used with it.
type Flags struct {
	From     string
	Limit    int
	Again    bool
	Template string
	Report   string
}

// Add adds to cmd the flag --from and the flags that can be used with it, except --report.
func (f *Flags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.From, "from", "", "make a task from each item of `SOURCE`, such as gh:OWNER/REPO; PLAN\nhas then the defaults, and no tasks")
	flags.IntVar(&f.Limit, "limit", 0, "with --from, take at most `N` items, the oldest first")
	flags.BoolVar(&f.Again, "again", false, "with --from, also take items that have a complete task")
	flags.StringVar(&f.Template, "template", "", "with --from, make the prompts from `FILE`; its {{ITEM}} is the item's text")
	// Ignore the error: the flag exists and has no completion function yet.
	_ = cmd.RegisterFlagCompletionFunc("from", completeSource)
}

// AddReport declares the flag --report.
func (f *Flags) AddReport(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Report, "report", "", "with --from, tell the source how tasks have ended: `WHAT` is comment,\nlabel=NAME, pr or none, or several with commas between them")
}

// completeSource suggests the kinds of sources. The shell also suggests files, because CSV and JSON
// Lines files are sources.
func completeSource(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{
		"gh:\tissues on GitHub: gh:OWNER/REPO, #12 or label:NAME behind it", "glab:\tissues on GitLab: glab:OWNER/PROJECT",
		"beads\tthe beads of the project", "inbox\tthe ideas in the project's inbox",
	}, cobra.ShellCompDirectiveDefault | cobra.ShellCompDirectiveNoSpace
}

// Check returns an error if the flags and arguments cannot be used together.
func (f Flags) Check(args []string) error {
	if f.From == "" {
		for _, flag := range []struct {
			name  string
			given bool
		}{{"--limit", f.Limit != 0}, {"--again", f.Again}, {"--template", f.Template != ""}, {"--report", f.Report != ""}} {
			if flag.given {
				return exit.Usage(fmt.Errorf("%s needs --from, the source of the items", flag.name))
			}
		}
		return nil
	}
	switch {
	case len(args) > 1:
		return exit.Usage(errors.New("--from takes one PLAN at most: the defaults of the tasks"))
	case f.Limit < 0:
		return exit.Usage(fmt.Errorf("--limit %d: want 1 or more", f.Limit))
	}
	_, err := parseReport(f.Report)
	return err
}

// parseReport parses the value of --report. It returns nil if the flag was not given.
func parseReport(text string) (*plan.ItemReport, error) {
	if text == "" {
		return nil, nil
	}
	var r plan.ItemReport
	for word := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		switch {
		case name == "comment" && value == "":
			r.Comment = true
		case name == "pr" && value == "":
			r.Comment, r.PR = true, true
		case name == "label":
			if problem := source.LabelProblem(value); problem != "" {
				return nil, exit.Usage(fmt.Errorf("--report label=%q: %s", value, problem))
			}
			r.Label = value
		case name == "none" && text == "none":
		default:
			return nil, exit.Usage(fmt.Errorf("--report %q: want comment, label=NAME, pr or none", text))
		}
	}
	return &r, nil
}

// Load reads the source and makes the plan. args contains at most one name: the name of the file
// with the defaults of the tasks. Load returns a usage error if a server is configured, because the
// tasks of a source run only on this machine.
func (f Flags) Load(ctx context.Context, e *env.Env, args []string) (made app.SourcePlan, err error) {
	far, err := openfleet.UsesServer(e)
	if err != nil {
		return made, err
	}
	if far {
		return made, exit.WithHint(exit.Usage(errors.New("--from takes items for runs of this machine, and a server is set")), "add --local, or let 'gaffer serve' watch the source there, see 'gaffer sources --help'")
	}
	report, err := parseReport(f.Report)
	if err != nil {
		return made, err
	}
	q := app.SourceRequest{From: f.From, Dir: e.Dir, Template: f.Template, Limit: f.Limit, Report: report}
	if f.Again {
		q.Take = plan.TakeAgain
	}
	if len(args) > 0 {
		q.Plan = args[0]
	}
	err = openfleet.WithApp(ctx, e, func(a *app.App) error {
		made, err = a.Sources.Plan(ctx, q)
		return err
	})
	return made, err
}

// Empty returns a text that says why a plan has no tasks, such as "no open item". An item is an
// entry of the source from which the plan was made, such as an issue.
func Empty(made app.SourcePlan) string {
	if made.Found == 0 {
		return "no open item"
	}
	return fmt.Sprintf("nothing to take, %s", LeftOut(made))
}

// LeftOut returns a text about those items of the source, such as issues, for which the plan has no
// task. It returns "" if there are none.
func LeftOut(made app.SourcePlan) string {
	var parts []string
	if n := len(made.Held); n > 0 {
		text := phrase.Count(n, "item") + " left out: " + display.Printable(made.Held[0].String())
		if n > 1 {
			text += fmt.Sprintf(", and %d more", n-1)
		}
		parts = append(parts, text)
	}
	if made.More > 0 {
		parts = append(parts, fmt.Sprintf("%s left for later because of the limit", phrase.Count(made.More, "item")))
	}
	return strings.Join(parts, "; ")
}
