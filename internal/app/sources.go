package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/config"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/beadrun"
	"gaffer/internal/flow/dispatch"
	"gaffer/internal/flow/prompt"
	"gaffer/internal/flow/source"
	"gaffer/internal/forge"
	"gaffer/internal/landing"
	"gaffer/internal/plan"
	"gaffer/internal/project"
	"gaffer/ledger"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

// Sources makes tasks from the items of sources. A source is where work comes from, such as an
// issue tracker, and an item is one piece of work, such as an issue. Sources also watches sources
// for new items, and reports to each source how the tasks of its items have ended.
type Sources struct{ app *App }

// SourceRequest says which items of a source become tasks, and how.
type SourceRequest struct {
	From     string           // the source of the items, such as "gh:ada/shop label:agent" for issues on GitHub
	Plan     string           // path of a file with default settings for the tasks; empty means gaffer's own defaults
	Dir      string           // folder that relative paths start from
	Template string           // path of a template for the tasks' prompts; empty means the template that the file Plan names
	Limit    int              // maximum number of items that become tasks; 0 means the limit in the file Plan
	Take     plan.ItemTake    // whether an item that already had a task gets another task
	Report   *plan.ItemReport // what the source is told when a task ends; nil means what the file Plan says
}

// SourcePlan is a plan whose tasks were made from the items of a source.
type SourcePlan struct {
	plan.Plan
	From  string
	Found int               // number of open items in the source
	Held  []engine.HeldItem // items that are left out because they have, or had, a task in a run
	More  int               // number of items that are left out because of the limit
}

// Plan reads the items of a source and makes a plan with tasks for them. It changes neither the
// source nor the database.
func (s *Sources) Plan(ctx context.Context, q SourceRequest) (SourcePlan, error) {
	return s.planIn(ctx, s.app.opts, q)
}

// planIn is like [Sources.Plan], but uses the project and the settings in opts.
func (s *Sources) planIn(ctx context.Context, opts Options, q SourceRequest) (SourcePlan, error) {
	made := SourcePlan{From: q.From}
	spec, err := source.Parse(q.From)
	if err != nil {
		return made, fmt.Errorf("--from %w", err)
	}
	agents := slices.Sorted(maps.Keys(opts.Config.Agents()))
	out, err := plan.LoadOutline(host.OS(), q.Plan, plan.Options{Dir: q.Dir, Root: opts.Project.Root, Agents: agents})
	if err != nil {
		return made, err
	}
	report := out.Report
	if q.Report != nil {
		report = *q.Report
	}
	if err := source.CheckReport(spec, report); err != nil {
		return made, fmt.Errorf("report: %w", err)
	}
	template, err := sourceTemplate(q, out)
	if err != nil {
		return made, err
	}
	from, err := source.Open(spec, source.Options{
		Dir: q.Dir, Root: opts.Project.Root, Outline: out, Agents: agents, Inbox: opts.inbox(), Host: host.OS(),
		Beads: func(ctx context.Context, tasks []plan.Task) ([]plan.Task, error) {
			return opts.prepareBeads(ctx, tasks)
		},
	})
	if err != nil {
		return made, err
	}
	items, err := from.List(ctx)
	if err != nil {
		return made, err
	}
	tasks, err := source.Tasks(items, out, template, q.Take, report)
	if err != nil {
		return made, err
	}
	made.Found = len(tasks)
	err = s.app.store.Read(ctx, func(r store.Reader) (err error) {
		made.Held, err = engine.HeldItems(r, tasks)
		return err
	})
	if err != nil {
		return made, err
	}
	free := engine.WithoutItems(plan.Plan{Tasks: tasks}, made.Held).Tasks
	taken := firstTasks(free, cmp.Or(q.Limit, out.Limit))
	made.More = len(free) - len(taken)
	made.Plan, err = out.Plan(spec.String(), taken)
	return made, err
}

// firstTasks returns at most limit tasks of a list, in an order in which each task comes after the
// tasks that it needs. A task is left out if it needs another task that is not in the result. If
// limit is 0, firstTasks returns the list unchanged.
func firstTasks(tasks []plan.Task, limit int) (first []plan.Task) {
	if limit == 0 {
		return tasks
	}
	taken := map[string]bool{}
	for again := true; again; {
		again = false
		for _, t := range tasks {
			waits := slices.ContainsFunc(t.After, func(id string) bool { return !taken[id] })
			if len(first) < limit && !taken[t.ID] && !waits {
				first, taken[t.ID], again = append(first, t), true, true
			}
		}
	}
	return first
}

// maxTemplate is the maximum size of a file with a prompt template, in bytes.
const maxTemplate = 1 << 20

// sourceTemplate reads the template for the prompts of the tasks. It returns nil if neither q nor
// out names a template file.
func sourceTemplate(q SourceRequest, out plan.Outline) (*prompt.Template, error) {
	path := out.Template
	if q.Template != "" {
		if path = q.Template; !filepath.IsAbs(path) {
			path = filepath.Join(q.Dir, path)
		}
	}
	if path == "" {
		return nil, nil
	}
	data, err := statefile.ReadBytes(host.OS(), path)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	if len(data) > maxTemplate {
		return nil, fmt.Errorf("template %s: has more than %d MiB", path, maxTemplate>>20)
	}
	t := prompt.Parse(filepath.Base(path), string(data))
	return &t, source.CheckTemplate(t)
}

func (o Options) inbox() *workflow.Inbox {
	return workflow.Open(o.Config.Path("paths.workflow"), workflow.Options{Now: o.Now, LockTimeout: o.Config.Duration("lock_timeout")}).Inbox()
}

// prepareBeads completes tasks that work on beads, which are work items of the ledger protocol. It
// makes the tasks' prompts from templates, and sets each task's repository and the folder of the
// ledger.
func (o Options) prepareBeads(ctx context.Context, tasks []plan.Task) ([]plan.Task, error) {
	p, err := dispatch.Plan(plan.Plan{Tasks: tasks}, dispatch.Settings{}, func(name string) (prompt.Template, error) {
		return prompt.Load(filepath.Join(o.Project.Root, "templates"), name)
	})
	if err != nil {
		return nil, err
	}
	dir := o.Config.Path("paths.ledger")
	beads := beadrun.New(beadrun.Options{Project: o.Project.Root, Ledger: ledger.Open(dir, ledger.Options{Now: o.Now}), LedgerDir: dir})
	return beads.Prepare(ctx, p.Tasks)
}

// optionsOf returns the options for the project at root on this machine. An empty root means this
// project. The parameter why says in error messages where the path root comes from, for example
// "the run".
func (o Options) optionsOf(root, why string) (Options, error) {
	if root == "" || root == o.Project.Root {
		return o, nil
	}
	var err error
	if o.Project, err = project.At(root, why); err != nil {
		return o, err
	}
	o.Config, err = config.Load(config.Inputs{Root: o.Project.Root, Getenv: o.Getenv})
	return o, err
}

// itemReports returns the [source.Reports] that sends reports on ended tasks to the sources of the
// tasks.
func (s *Sources) itemReports() *source.Reports {
	return &source.Reports{
		Engine: s.app.engine, Host: host.OS(), Now: s.app.clock(), Open: s.reportSource, PullRequest: s.pullRequest, Notice: s.app.opts.Notice,
	}
}

// reportSource opens the source to which the report r must be sent. It uses the settings of the
// project to which the report's run belongs.
func (s *Sources) reportSource(r engine.ItemReport) (source.Source, error) {
	var run store.Run
	err := s.app.store.Read(context.Background(), func(rows store.Reader) (err error) {
		run, err = rows.Run(r.Run)
		return err
	})
	if err != nil {
		return nil, err
	}
	opts, err := s.app.opts.optionsOf(run.Project, "the run")
	if err != nil {
		return nil, err
	}
	name := r.Item.Source
	if strings.HasPrefix(name, string(source.Inbox)+":") {
		name = string(source.Inbox)
	}
	spec, err := source.Parse(name)
	if err != nil {
		return nil, err
	}
	return source.Open(spec, source.Options{Root: opts.Project.Root, Inbox: opts.inbox(), Host: host.OS()})
}

func (s *Sources) pullRequest(ctx context.Context, key store.TaskKey) (string, error) {
	p, err := s.app.Landing.FindPR(ctx, key.Run, key.Task)
	none, wrong := (*landing.NoChangeError)(nil), (*forge.Error)(nil)
	// If the task has no change, or the repository has no remote, there is no pull request.
	if errors.As(err, &none) || errors.As(err, &wrong) && wrong.Program == "git" {
		return "", nil
	}
	return p.URL, err
}

// reportItems reports to the sources of a run's tasks how the tasks have ended. The parameter ended
// says whether the run has ended. If it has not, reports that must name a pull request are not sent
// yet, because gaffer opens the pull requests at the end of the run.
func (s *Sources) reportItems(ctx context.Context, run string, ended bool) {
	_, _, err := s.itemReports().Send(ctx, run, false, func(r engine.ItemReport) bool { return ended || !r.Item.Report.PR })
	if err != nil && ctx.Err() == nil {
		s.app.opts.Notice(fmt.Sprintf("the ends of tasks are not reported to their source: %v; 'gaffer sources --send' tries again", err))
	}
}

// SendReports sends unsent reports on ended tasks to the sources of the tasks. It sends only
// reports for runs on which this machine has worked, and on which no process works now. If now is
// false, it skips reports whose last try has failed recently. It returns how many reports it has
// sent, and how many could not be sent.
func (s *Sources) SendReports(ctx context.Context, now bool) (sent, failed int, err error) {
	return s.itemReports().Send(ctx, "", now, func(r engine.ItemReport) bool {
		var run store.Run
		err := s.app.store.Read(ctx, func(rows store.Reader) (err error) {
			run, err = rows.Run(r.Run)
			return err
		})
		// If the run was deleted, return true: Send then deletes the report instead of sending it.
		if err != nil {
			return errors.Is(err, store.ErrNotFound)
		}
		return s.app.locks.WorkedOn(run) && !s.app.locks.Owner(run.ID).Alive && (run.Status.Final() || !r.Item.Report.PR)
	})
}
