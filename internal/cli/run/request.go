package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/sourceplan"
	"gaffer/internal/exit"
	"gaffer/internal/flow/schedulerun"
	"gaffer/internal/flow/source"
	"gaffer/internal/plan"
)

// Request is what a user wants to run later: the arguments of 'gaffer run' that make sense without
// a user in front of the terminal.
type Request struct {
	cmd   *cobra.Command
	names []string // names of the flags that RequestFlags has added
}

// RequestFlags adds to cmd those flags of 'gaffer run' that say which plan is run, and how. After
// cmd has parsed its command line, the returned request reads the values of these flags from cmd.
func RequestFlags(cmd *cobra.Command) *Request {
	own := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { own[f.Name] = true })
	r := &Request{cmd: cmd}
	(&options{}).planFlags(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !own[f.Name] {
			r.names = append(r.names, f.Name)
		}
	})
	return r
}

// Args returns the arguments with which [Load] reads the same plan again. plans are the plan
// arguments as the user has typed them. Args makes paths absolute: those of the plans, and those in
// the values of --prompts-dir, --template and --from. It leaves other values as they are. It
// returns an error if there is neither a plan nor the flag --from.
func (r *Request) Args(e *env.Env, plans []string) ([]string, error) {
	args := []string{}
	for _, p := range plans {
		args = append(args, absolute(e, p))
	}
	var wrong error
	r.cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(r.names, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			switch f.Name {
			case "prompts-dir", "template":
				v = e.Path(v)
			case "from":
				v = absoluteSource(e, v)
			}
			args = append(args, "--"+f.Name+"="+v)
		}
	})
	if len(plans) == 0 && !r.cmd.Flags().Changed("from") {
		wrong = exit.Usage(errors.New("missing PLAN: name what is run"))
	}
	return args, wrong
}

// absolute returns the absolute path of a plan that is a file or folder. It returns any other plan,
// such as the text of a prompt, unchanged.
func absolute(e *env.Env, typed string) string {
	if typed == "" {
		return typed
	}
	path := e.Path(typed)
	if _, err := os.Stat(path); err != nil {
		return typed
	}
	return path
}

// absoluteSource returns the value of --from, which names a source of tasks such as a CSV file or a
// GitHub repository, with an absolute path. If the source is not a file, it returns the value
// unchanged.
func absoluteSource(e *env.Env, typed string) string {
	spec, err := source.Parse(typed)
	switch {
	case err != nil || spec.File == "":
		return typed
	case spec.Kind == source.Beads:
		return string(source.Beads) + ":" + e.Path(spec.File)
	}
	return e.Path(spec.File)
}

// Load reads the plan that the arguments of 'gaffer run' name, in the project and the current
// folder of e. If the plan has no task to run, it returns a [*schedulerun.NothingError]. It also
// returns an error if the plan is a file of beads (work items with their own format), because
// 'gaffer dispatch' runs those.
func Load(ctx context.Context, e *env.Env, args []string) (plan.Plan, error) {
	var o options
	cmd := &cobra.Command{Use: "run"}
	o.planFlags(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		return plan.Plan{}, exit.Usage(fmt.Errorf("arguments of 'gaffer run': %w", err))
	}
	plans := cmd.Flags().Args()
	if err := o.check(e, plans); err != nil {
		return plan.Plan{}, err
	}
	if o.source.From != "" {
		made, err := o.source.Load(ctx, e, plans)
		switch {
		case err != nil:
			return plan.Plan{}, err
		case len(made.Tasks) == 0:
			return plan.Plan{}, &schedulerun.NothingError{Why: made.From + ": " + sourceplan.Empty(made)}
		}
		return o.applyTo(made.Plan)
	}
	p, err := loadPlans(e, plans, o)
	if err != nil {
		return plan.Plan{}, err
	}
	if p.Format == plan.Beads {
		return plan.Plan{}, errBeads(plans)
	}
	if len(p.Tasks) == 0 {
		return plan.Plan{}, &schedulerun.NothingError{Why: "nothing is left to do"}
	}
	return p, nil
}

// Loader returns a function that calls [Load] to read the plans of schedules. Load then prints
// nothing and reads no input.
func Loader(e *env.Env) app.PlanLoader {
	return func(ctx context.Context, root string, args []string) (plan.Plan, error) {
		there := e.AtProject(root)
		there.In, there.Out, there.Err = strings.NewReader(""), io.Discard, io.Discard
		return Load(ctx, there, args)
	}
}
