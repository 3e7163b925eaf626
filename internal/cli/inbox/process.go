package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/flow/inbox"
	"gaffer/internal/flow/inbox/webpage"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func processCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "process [ID]",
		Short: "Find out what the pending items are about",
		Long: `Process the item with this ID, or every item that is pending or whose process has
ended, and store the result as the item's analysis.

For evolve and feature the result is the sections of the spec that the item
concerns. The page of a reference is fetched only with --fetch: within 10 seconds,
at most 1 MiB, and never from this machine or a private network. Items of other
types stay unchanged. Any number of processes may do this at once.`,
		Example: `  gaffer inbox process
  gaffer inbox process inbox-1708012345678-a1b2c3 --fetch
  gaffer inbox process --watch --json | jq --unbuffered -r .analysis.summary`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeIDs(e),
	}
	p := &processing{env: e}
	cmd.Flags().BoolVar(&p.watch, "watch", false, "go on with what comes, until interrupted")
	cmd.Flags().BoolVar(&p.fetch, "fetch", false, "fetch the pages of references")
	p.asJSON = env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if p.watch && len(args) > 0 {
			return exit.Usage(errors.New("--watch is for all items, not for one"))
		}
		w, err := p.worker()
		if err != nil {
			return err
		}
		return p.run(cmd.Context(), w, args)
	}
	return cmd
}

// processing holds the state of one call of 'gaffer inbox process'.
type processing struct {
	env          *env.Env
	watch, fetch bool
	asJSON       *bool
	done         []jsontree.Value
	failed       int
}

func (p *processing) worker() (*inbox.Worker, error) {
	b, err := open(p.env)
	if err != nil {
		return nil, err
	}
	c, err := p.env.Config()
	if err != nil {
		return nil, err
	}
	w := &inbox.Worker{
		Inbox: b, Folder: c.Path("paths.workflow"), Owner: host.OS().Self(), Now: p.env.Now,
		Report: func(line string) { p.env.Talk("%s", display.Line(line, 200)) },
	}
	if p.fetch {
		w.Fetch = webpage.Fetcher{}.Fetch
	}
	return w, nil
}

func (p *processing) run(ctx context.Context, w *inbox.Worker, args []string) error {
	switch {
	case p.watch:
		return w.Watch(ctx, p.show)
	case len(args) == 1:
		item, err := w.ProcessOne(ctx, args[0])
		if err != nil {
			return err
		}
		if err := p.show(item); err != nil {
			return err
		}
	default:
		if err := w.ProcessAll(ctx, p.show); err != nil {
			return err
		}
	}
	return p.end()
}

// show prints an item of the inbox that was processed. With --json, show only collects the items,
// and the method end prints them as one list. With --json and --watch, the command never calls end,
// so show prints each item at once as a line of JSON.
func (p *processing) show(item workflow.Item) error {
	if item.Status == workflow.ItemError {
		p.failed++
	}
	// With --watch, do not collect the processed items, because the list would grow without limit.
	if !p.watch {
		p.done = append(p.done, item.Raw)
	}
	switch {
	case *p.asJSON && p.watch:
		var line bytes.Buffer
		if err := json.Compact(&line, item.Raw.Raw()); err != nil {
			return err
		}
		return p.env.Printf("%s\n", &line)
	case *p.asJSON:
		return nil
	}
	sections := ""
	if item.Analysis != nil {
		sections = strings.Join(item.Analysis.AffectedSections, " ")
	}
	return p.env.Printf("%s\n", strings.TrimSpace(display.Line(fmt.Sprintf("%s %s %s", item.ID, item.Status, sections), 300)))
}

func (p *processing) end() error {
	if *p.asJSON {
		if err := p.env.PrintJSON(append([]jsontree.Value{}, p.done...)); err != nil {
			return err
		}
	}
	switch {
	case len(p.done) == 0:
		p.env.Talk("nothing is pending in the inbox")
	case p.failed > 0:
		return exit.WithHint(fmt.Errorf("%d of %s could not be processed", p.failed, phrase.Count(len(p.done), "item")),
			"'gaffer inbox list --status error --json' says why; 'gaffer inbox process ID' tries again")
	}
	return nil
}
