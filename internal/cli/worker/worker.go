// Package worker implements the command 'gaffer worker': it takes tasks from a coordinator (a
// gaffer server) and runs them on this machine.
package worker

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/connect/workerclient"
	"gaffer/internal/exit"
)

// options holds the values of the flags of 'gaffer worker'.
type options struct {
	name   string
	slots  int
	labels []string
	allow  []string
	once   bool
	json   bool
}

const (
	defaultSlots = 4
	maxSlots     = 1000
)

// New returns the command 'gaffer worker'.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "worker --server URL [FLAG]…",
		DisableFlagsInUseLine: true,
		Short:                 "Run tasks for a coordinator on this machine",
		Long: `Take tasks of this project from a coordinator, run them here, and report them.

The worker needs a token of role worker. With --fingerprint it trusts a certificate
that 'gaffer serve --tls' has created; 'gaffer help server' says how to set both. A
coordinator on this machine needs neither.

After SIGTERM or Ctrl-C, the worker takes no more tasks and waits for the running
ones; the second signal stops them and returns them to the queue, the third leaves
them running. They also continue if the worker is killed or its terminal is closed:
the next worker of that name takes them over. If none does, they are paused when
their lease ends, and the coordinator gives the tasks to other workers; after ten
minutes they are ended.`,
		Example: `  gaffer worker --server http://127.0.0.1:4870
  gaffer worker --server https://build.example:4870 --token-file token --fingerprint 5E:1F:…
  gaffer worker --server https://build.example:4870 --name gpu-1 --slots 2 --labels gpu,linux`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), e, o) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	openfleet.ServerFlags(e, cmd)
	flags.StringVar(&o.name, "name", "", "what the worker is called, `NAME`; this machine's name without it")
	flags.IntVar(&o.slots, "slots", defaultSlots, "run `N` tasks at once")
	flags.StringSliceVar(&o.labels, "labels", nil, "take tasks that want these too, `A,B`")
	flags.StringSliceVar(&o.allow, "allow", nil, "take and run tasks of these agents alone, `A,B`; the setting worker.allow without it")
	flags.BoolVar(&o.once, "once", false, "end when there is nothing to do")
	flags.BoolVar(&o.json, "json", false, "print what happens as JSON, an object on each line")
	return cmd
}

func run(ctx context.Context, e *env.Env, o options) error {
	// Only users may start a worker. If an agent has started this process, return an error.
	if err := e.RefuseAgents("gaffer worker"); err != nil {
		return err
	}
	opts, err := workerOptions(e, o)
	if err != nil {
		return err
	}
	shown := &lines{env: e, json: o.json}
	opts.Report = func(e workerclient.Event) {
		if e.Kind == "joined" {
			e.Text = fmt.Sprintf("worker %s takes tasks of %s from %s, %d at once", opts.Name, opts.Config.ProjectName(), opts.Config.Server(), opts.Slots)
		}
		shown.printEvent(e)
	}
	for _, secret := range []string{"GAFFER_TOKEN", "GAFFER_TOKEN_FILE"} { // agents must not inherit the worker's token
		if err := os.Unsetenv(secret); err != nil {
			return err
		}
	}
	s, err := app.OpenServerWorker(ctx, opts)
	if err != nil {
		return err
	}
	defer s.Close()
	return runWithSignals(ctx, s, shown)
}

// workerOptions combines the flags and the settings into the options of a worker.
func workerOptions(e *env.Env, o options) (opts app.ServerWorkerOptions, err error) {
	if opts.Project, err = e.Project(); err != nil {
		return opts, err
	}
	if opts.Config, err = e.Config(); err != nil {
		return opts, err
	}
	opts.Name, opts.Slots, opts.Labels, opts.Once, opts.Allow = o.name, o.slots, o.labels, o.once, o.allow
	if len(opts.Allow) == 0 {
		opts.Allow = opts.Config.List("worker.allow")
	}
	opts.Now, opts.Getenv, opts.Version = e.Now, e.Getenv, e.Version
	if opts.Name == "" {
		if opts.Name, err = os.Hostname(); err != nil {
			return opts, fmt.Errorf("the name of this machine: %w; --name says another", err)
		}
	}
	if err := check(opts); err != nil {
		return opts, err
	}
	opts.Connect, err = openfleet.Connector(e)
	return opts, err
}

func check(opts app.ServerWorkerOptions) error {
	switch {
	case opts.Slots < 1 || opts.Slots > maxSlots:
		return exit.Usage(fmt.Errorf("--slots %d: want 1 to %d", opts.Slots, maxSlots))
	case slices.ContainsFunc(opts.Labels, isInvalidLabel):
		return exit.Usage(fmt.Errorf("--labels %s: project: is given, and there can be no @, space or comma in a label", strings.Join(opts.Labels, ",")))
	case slices.ContainsFunc(opts.Allow, func(name string) bool { return name == "" || strings.ContainsAny(name, "/, \t") }):
		return exit.Usage(fmt.Errorf("--allow %s: want names of agents, such as claude,codex", strings.Join(opts.Allow, ",")))
	case strings.ContainsAny(opts.Name, " \t,@"):
		return exit.Usage(fmt.Errorf("--name %q: want a word without @, spaces and commas", opts.Name))
	}
	return nil
}

// isInvalidLabel reports whether the user must not give a worker this label. A label is invalid if
// it is empty, contains a character that is not allowed in labels, or begins with "project:", which
// only gaffer itself may use.
func isInvalidLabel(label string) bool {
	return label == "" || strings.ContainsAny(label, "@, \t") || strings.HasPrefix(label, "project:")
}
