package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/runs"
	"gaffer/internal/api/viewers"
	"gaffer/internal/app/doctor"
	"gaffer/internal/app/localrun"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/config"
	"gaffer/internal/connect/serverfleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/newrun"
	"gaffer/internal/plan"
	"gaffer/internal/plan/planfiles"
	"gaffer/internal/plan/secret"
	"gaffer/internal/project"
	"gaffer/internal/text/display"
	"gaffer/internal/text/truncate"
	"gaffer/internal/ui/phrase"
)

// NewRunService implements [server.NewRuns]. It makes the same runs as 'gaffer run'. If the run's
// project is a folder of this machine, a background process of this machine works on the run, as
// with 'gaffer run --detach'. Otherwise the server's workers execute the run, as with 'gaffer run
// --server'.
type NewRunService struct {
	app      *App
	runs     *runs.Service
	projects interface { // lists the projects that the server knows
		Projects(ctx context.Context) ([]viewers.Project, error)
	}
	agents      *protocol.Service
	machine     string
	workersOnly bool

	mu       sync.Mutex
	programs map[string]foundPrograms // agents that each project can use, by the project's path
}

// foundPrograms are the agents that a project can use. They are kept for programsTime, because
// asking the agents' programs for their versions can take seconds.
type foundPrograms struct {
	list []fleet.AgentProgram
	at   time.Time
}

// programsTime is how long a [foundPrograms] is reused before gaffer asks the agents' programs for
// their versions again.
const programsTime = 15 * time.Second

// maxRunFolders limits how many folders are offered for new runs only because an earlier run has
// worked in them. Folders of projects that the server knows do not count.
const maxRunFolders = 100

// Places implements [server.NewRuns].
func (s *NewRunService) Places(ctx context.Context) (fleet.RunPlaces, error) {
	places := fleet.RunPlaces{Machine: s.machine, Folders: []fleet.ProjectFolder{}, Workers: []fleet.ProjectWorkers{}}
	if err := s.refusal(); err != nil {
		places.Refused = err.Error()
	}
	folders, err := s.folders(ctx)
	if err != nil {
		return places, err
	}
	places.Folders = folders
	agents, err := s.agents.Agents(ctx)
	if err != nil {
		return places, err
	}
	byProject := map[string][]fleet.ProjectWorker{}
	for _, a := range agents {
		w := serverfleet.WorkerOf(a)
		if !w.Online() || w.ByHand || w.Run != "" {
			continue
		}
		for _, name := range w.Projects() {
			byProject[name] = append(byProject[name], fleet.ProjectWorker{Name: w.Name, Slots: w.Slots, Allowed: w.Allowed, Programs: w.Programs})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byProject)) {
		list := byProject[name]
		slices.SortFunc(list, func(a, b fleet.ProjectWorker) int { return strings.Compare(a.Name, b.Name) })
		places.Workers = append(places.Workers, fleet.ProjectWorkers{Project: name, Workers: list})
	}
	return places, nil
}

// refusal returns an error that says why this machine executes no new runs. It returns nil if this
// machine executes them.
func (s *NewRunService) refusal() error {
	if s.workersOnly {
		return protocol.Conflict("workers_only", "this server starts runs only on its workers: 'gaffer worker' in a checkout of the project starts one")
	}
	return localrun.CheckDetach(s.app.opts.Getenv)
}

// folders returns the project folders in which this machine executes new runs. These are the
// folders of the projects that the server knows, and the folders of runs that a gaffer process on
// this machine has worked on.
func (s *NewRunService) folders(ctx context.Context) ([]fleet.ProjectFolder, error) {
	known, err := s.projects.Projects(ctx)
	if err != nil {
		return nil, err
	}
	list, listed := []fleet.ProjectFolder{}, map[string]bool{}
	for _, p := range known {
		list, listed[p.Path] = append(list, fleet.ProjectFolder{Path: p.Path, Name: p.Name, Active: p.Active}), true
	}
	var paths []string
	err = s.app.store.Read(ctx, func(r store.Reader) error {
		rows, err := s.app.query.Rows(r, "", true)
		for _, run := range rows {
			if filepath.IsAbs(run.Project) && !listed[run.Project] && len(paths) < maxRunFolders && s.app.locks.WorkedOn(run) {
				listed[run.Project] = true
				paths = append(paths, run.Project)
			}
		}
		return err
	})
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			list = append(list, fleet.ProjectFolder{Path: path, Name: filepath.Base(path)})
		}
	}
	return list, err
}

// options returns the options for the project at this path on this machine. It returns an error if
// [NewRunService.folders] does not return the path. It compares paths as strings, and does not
// follow symbolic links.
func (s *NewRunService) options(ctx context.Context, path string) (Options, error) {
	folders, err := s.folders(ctx)
	if err != nil {
		return Options{}, err
	}
	if !slices.ContainsFunc(folders, func(f fleet.ProjectFolder) bool { return f.Path == path }) {
		return Options{}, protocol.NothingFound("project_not_found", fmt.Sprintf("no project %.200q: GET /v1/places lists them; 'gaffer serve' and 'gaffer run' in a folder make it known", path))
	}
	opts := s.app.opts
	if opts.Project.Root == path {
		return opts, nil
	}
	if opts.Project, err = project.At(path, "a request"); err != nil {
		return opts, protocol.Conflict("project_unusable", "%s", err)
	}
	if opts.Config, err = config.Load(config.Inputs{Root: opts.Project.Root, Getenv: opts.Getenv}); err != nil {
		return opts, protocol.Conflict("project_unusable", "the settings of %s: %s", path, err)
	}
	return opts, nil
}

// Programs implements [server.NewRuns].
func (s *NewRunService) Programs(ctx context.Context, path string) ([]fleet.AgentProgram, error) {
	opts, err := s.options(ctx, path)
	if err != nil {
		return nil, err
	}
	// Keep the lock while the agents' programs are asked for their versions. Then concurrent
	// requests wait and use the same result, instead of asking the programs again.
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.programs[path]
	if !ok || time.Since(found.at) > programsTime {
		found = foundPrograms{agentPrograms(ctx, opts.Project.Root, opts.Config), time.Now()}
		if ctx.Err() == nil {
			s.programs[path] = found
		}
	}
	return found.list, ctx.Err()
}

// The maximum lengths, in characters, of the version of an agent program, and of the text that says
// why the program cannot be used.
const (
	maxVersion = 60
	maxProblem = 500
)

// agentPrograms returns the agents that a plan of the project may name, and whether their programs
// are installed on this machine. These are the agents that 'gaffer doctor' shows, and the fake
// agent, which is built into gaffer.
func agentPrograms(ctx context.Context, root string, c *config.Config) []fleet.AgentProgram {
	list := []fleet.AgentProgram{}
	for _, a := range doctor.FindAgents(ctx, doctor.Options{
		Project: root, Names: slices.Sorted(maps.Keys(c.Agents())), Agents: func(name string) (map[string]agent.Custom, error) { return customAgents(c, name) },
	}) {
		list = append(list, fleet.AgentProgram{Name: a.Name, Installed: a.Path != "", Version: display.Line(a.Version, maxVersion), Problem: truncate.Chars(a.Problem, maxProblem)})
	}
	if !slices.ContainsFunc(list, func(a fleet.AgentProgram) bool { return a.Name == plan.FakeAgent }) {
		list = append(list, fleet.AgentProgram{Name: plan.FakeAgent, Installed: true})
	}
	return list
}

// files opens the plan files of a project, and returns the project's options too. The caller must
// close the files.
func (s *NewRunService) files(ctx context.Context, path string) (*planfiles.Files, Options, error) {
	opts, err := s.options(ctx, path)
	if err != nil {
		return nil, opts, err
	}
	files, err := planfiles.Open(opts.Project.Root)
	if err != nil {
		err = protocol.Conflict("project_unusable", "the folder %s cannot be opened", path)
	}
	return files, opts, err
}

// PlanFiles implements [server.NewRuns].
func (s *NewRunService) PlanFiles(ctx context.Context, path string) (fleet.PlanFiles, error) {
	files, _, err := s.files(ctx, path)
	if err != nil {
		return fleet.PlanFiles{}, err
	}
	defer func() { _ = files.Close() }() // ignore the error: the folder was only read
	paths, more, err := files.List()
	return fleet.PlanFiles{Paths: paths, More: more}, err
}

// PlanFile implements [server.NewRuns].
func (s *NewRunService) PlanFile(ctx context.Context, path, file string) (fleet.PlanText, error) {
	files, _, err := s.files(ctx, path)
	if err != nil {
		return fleet.PlanText{}, err
	}
	defer func() { _ = files.Close() }() // ignore the error: the folder was only read
	text, err := files.Read(file)
	return fleet.PlanText{Text: text, File: file, Project: path}, err
}

// PlanOfRun implements [server.NewRuns]. It returns the run's plan in gaffer's own format, without
// the tasks, branches and labels that gaffer has added, and with secret values hidden.
func (s *NewRunService) PlanOfRun(ctx context.Context, id string) (fleet.PlanText, error) {
	raw, err := s.runs.Plan(ctx, id, true)
	if err != nil {
		return fleet.PlanText{}, err
	}
	p, err := plan.Decode(raw)
	if err != nil {
		return fleet.PlanText{}, fmt.Errorf("plan of run %s: %w", id, err)
	}
	var run store.Run
	err = s.app.store.Read(ctx, func(from store.Reader) (err error) {
		run, err = from.Run(id)
		return runquery.NotFoundAs(err, "run", id)
	})
	if err != nil {
		return fleet.PlanText{}, err
	}
	text := fleet.PlanText{Project: run.Project, Workers: !filepath.IsAbs(run.Project)}
	if text.Workers {
		text.On = run.OnlyWorker
	}
	p = workspace.RemoveMergeTasks(p, id)
	hidden := 0
	for i, t := range p.Tasks {
		t.Env = secret.Hide(t.Env)
		p.Tasks[i].Env = t.Env
		p.Tasks[i].Labels = slices.DeleteFunc(slices.Clone(t.Labels), func(label string) bool { return label == runs.ProjectLabel(run.Project) })
		for _, v := range t.Env {
			if v.IsHidden() {
				hidden++
			}
		}
	}
	if hidden > 0 {
		text.Notes = append(text.Notes, fmt.Sprintf("The plan leaves out the values of %s: its comments say where.", phrase.Count(hidden, "variable")))
	}
	if text.Text, err = p.YAML(); err != nil {
		return fleet.PlanText{}, fmt.Errorf("run %s: %w", id, err)
	}
	return text, nil
}

// draft is a run that a client wants to start, as a form or as the text of a plan. It also contains
// the plan that was read from the form or text.
type draft struct {
	fleet.RunDraft
	opts     Options // options of the project; the zero value if workers execute the run
	agents   []string
	plan     plan.Plan
	problems plan.Problems
	text     string // the plan's text, which may have been made from a form
	file     string // file name that the parser was given for text
}

// read reads the plan of the run that a client wants to start. Problems of the plan are not an
// error: they are in the field problems of the result.
func (s *NewRunService) read(ctx context.Context, d fleet.RunDraft) (*draft, error) {
	r := &draft{RunDraft: d, text: d.Text}
	files := &planfiles.Files{}
	switch {
	case d.Project == "":
		return nil, protocol.Invalid("project: is missing")
	case (d.Form == nil) == (d.Text == ""):
		return nil, protocol.Invalid("want a form or a text")
	case len(d.Text) > planfiles.MaxSize:
		return nil, protocol.Invalid("text: has %d MiB, more than the %d a plan may have", len(d.Text)>>20, planfiles.MaxSize>>20)
	case !d.Workers:
		var err error
		if files, r.opts, err = s.files(ctx, d.Project); err != nil {
			return nil, err
		}
		defer func() { _ = files.Close() }() // ignore the error: the folder was only read
		r.agents = slices.Sorted(maps.Keys(r.opts.Config.Agents()))
	default:
		// The workers execute the run, but this server does not know which agents are in their
		// settings. So use the agents in the settings of this server.
		r.agents = slices.Sorted(maps.Keys(s.app.opts.Config.Agents()))
	}
	if d.Form != nil {
		text, err := newrun.Form(*d.Form).Text(r.agents)
		if wrong, ok := errors.AsType[*newrun.UsageError](err); ok {
			r.problems = plan.Problems{{Text: wrong.Error(), Suggestion: ""}}
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		r.text = text
	}
	// Parse the text as if it were the content of d.File or, if the project has no such plan file,
	// of the file that fileName names. The variable ours means that d.File exists and has exactly
	// this text. Only in this case may gaffer tick checkboxes in d.File. In all other cases, remove
	// the file's name from the plan.
	name, ours := fileName(d.File, r.text), false
	if d.Form == nil && filepath.IsLocal(d.File) {
		if text, err := files.Read(d.File); err == nil {
			name, ours = filepath.Clean(d.File), text == r.text
		}
	}
	r.file = name
	p, err := plan.Load(files.Host(name, r.text), name, plan.Options{Dir: files.Dir(), Root: files.Dir(), Agents: r.agents})
	if problems, ok := errors.AsType[plan.Problems](err); ok {
		r.problems = problems
		return r, nil
	}
	if err != nil {
		return nil, protocol.Invalid("plan: %s", err)
	}
	if !ours {
		p.SourceFile = ""
		for i := range p.Tasks {
			p.Tasks[i].CheckboxFile = ""
		}
	}
	switch {
	case p.Format == plan.Beads:
		r.problems = plan.Problems{{Text: "beads are dispatched: 'gaffer dispatch --from FILE'"}}
	case len(p.Tasks) == 0:
		r.problems = plan.Problems{{Text: "nothing is left to do"}}
	}
	r.plan = p
	return r, nil
}

// fileName returns a file name for a plan's text. The extension of this name tells the parser the
// format of the text. The parameter given is the file name that the client has sent, which may be
// empty.
func fileName(given, text string) string {
	switch ext := strings.ToLower(filepath.Ext(given)); {
	case slices.Contains([]string{".yaml", ".yml", ".json", ".md", ".jsonl"}, ext):
		return "plan" + ext
	case plan.IsPlan("plan.md", []byte(text)):
		return "plan.md"
	}
	return "plan.yaml"
}

// Check implements [server.NewRuns].
func (s *NewRunService) Check(ctx context.Context, d fleet.RunDraft) (fleet.PlanCheck, error) {
	r, err := s.read(ctx, d)
	if err != nil {
		return fleet.PlanCheck{}, err
	}
	check := fleet.PlanCheck{Valid: len(r.problems) == 0, Name: r.plan.Name}
	check.Findings = append(r.findings(fleet.FindingProblem, r.problems), r.findings(fleet.FindingWarning, r.plan.Warnings)...)
	for _, t := range r.plan.Tasks {
		check.Tasks = append(check.Tasks, fleet.PlanTask{ID: t.ID, Name: t.Name, Agent: engine.AgentOf(t), Model: t.Model, After: t.After, Wave: t.Wave, Line: t.Line})
	}
	if d.Form != nil {
		check.Text, check.Command = r.text, newrun.Form(*d.Form).Command()
	} else if check.Valid {
		if f, err := newrun.FormOf(r.plan, r.agents); err != nil {
			check.FormWhy = err.Error()
		} else {
			form := fleet.RunForm(f)
			check.Form = &form
		}
	}
	if !check.Valid {
		return check, nil
	}
	lacks, err := s.lacks(ctx, r)
	if err != nil {
		return fleet.PlanCheck{}, err
	}
	check.Ready = len(lacks) == 0
	for _, l := range lacks {
		check.Findings = append(check.Findings, fleet.PlanFinding{Severity: fleet.FindingMissing, Text: l.Text, Next: l.Next})
	}
	warnings, err := s.idleWarnings(ctx, r)
	for _, text := range warnings {
		check.Findings = append(check.Findings, fleet.PlanFinding{Severity: fleet.FindingWarning, Text: text})
	}
	return check, err
}

// findings converts problems of a plan into findings for the client. A finding names a file only if
// the problem is in a file other than the plan itself.
func (r *draft) findings(severity string, problems plan.Problems) (list []fleet.PlanFinding) {
	for _, p := range problems {
		f := fleet.PlanFinding{Severity: severity, File: p.File, Line: p.Line, Column: p.Column, Text: plan.Problem{Text: p.Text, Suggestion: p.Suggestion}.String()}
		if f.File == r.file {
			f.File = ""
		}
		if r.Form != nil {
			f.Line, f.Column = 0, 0 // the user sees the form, not the text that was made from it
		}
		list = append(list, f)
	}
	return list
}

// lacks returns what prevents the plan from running on the machine or the workers that the user has
// chosen.
func (s *NewRunService) lacks(ctx context.Context, r *draft) ([]preflight.Problem, error) {
	if !r.Workers {
		if err := s.refusal(); err != nil {
			return []preflight.Problem{preflight.ProblemOf(err)}, nil
		}
		return Preflight(ctx, r.opts, r.plan)
	}
	if what := r.plan.OneMachineReason(); what != "" && r.On == "" {
		return []preflight.Problem{{Text: what + " is only there on one machine, and any worker of the project may take a task", Next: "choose one of them to run the whole plan"}}, nil
	}
	return nil, nil
}

// idleWarnings returns warnings about tasks that no online worker can run. It returns none if this
// machine executes the run.
func (s *NewRunService) idleWarnings(ctx context.Context, r *draft) ([]string, error) {
	if !r.Workers {
		return nil, nil
	}
	agents, err := s.agents.Agents(ctx)
	if err != nil {
		return nil, err
	}
	workers := make([]fleet.Worker, len(agents))
	for i, a := range agents {
		workers[i] = serverfleet.WorkerOf(a)
	}
	return serverfleet.IdleWarnings(workers, r.plan, r.Project, r.On, "", engine.AgentOf), nil
}

// Start implements [server.NewRuns].
func (s *NewRunService) Start(ctx context.Context, by credential.Identity, d fleet.RunDraft) (run fleet.Run, warning string, err error) {
	r, err := s.read(ctx, d)
	if err != nil {
		return run, "", err
	}
	if len(r.problems) > 0 {
		return run, "", protocol.Invalid("the plan has problems, nothing runs:\n%s", r.problems)
	}
	lacks, err := s.lacks(ctx, r)
	if err != nil {
		return run, "", err
	}
	if len(lacks) > 0 {
		lines := make([]string, len(lacks))
		for i, l := range lacks {
			lines[i] = l.String()
		}
		return run, "", protocol.Conflict("not_ready", "nothing runs:\n%s", strings.Join(lines, "\n"))
	}
	if r.Workers {
		rules, err := newrun.Permissions(s.app.opts.Config)
		if err != nil {
			return run, "", err
		}
		text, err := plan.Encode(r.plan.AddPermissions(rules))
		if err != nil {
			return run, "", err
		}
		run, err = s.runs.Submit(ctx, by, coordinator.NewRun{Project: r.Project, On: r.On, Key: r.Key, Plan: text})
		return run, "", err
	}
	return s.startHere(ctx, by, r)
}

// startHere stores the run and starts a background process on this machine that works on it, in the
// project's folder. If the client repeats the request, startHere finds the stored run, and starts a
// process only if none works on the run.
func (s *NewRunService) startHere(ctx context.Context, by credential.Identity, r *draft) (run fleet.Run, warning string, err error) {
	id, err := s.app.submit(ctx, r.plan, engine.Submission{
		Project: r.opts.Project.Root, Who: cmp.Or(by.Name, by.ID), Key: "run " + by.ID + " " + cmp.Or(r.Key, newID()),
	})
	if err != nil {
		return run, "", startError(err)
	}
	if run, err = s.app.query.Summary(ctx, id); err != nil || run.Status.Final() {
		return run, "", err
	}
	if err := s.app.Background.EnsureProcess(context.WithoutCancel(ctx), id); err != nil {
		return run, err.Error(), nil
	}
	run, err = s.app.query.Summary(ctx, id)
	return run, "", err
}

// startError makes an error visible to the client if the error has a hint, which is advice for the
// user. An example is the error about a missing base branch. It returns other errors unchanged.
func startError(err error) error {
	hint, ok := errors.AsType[interface {
		error
		Hint() string
	}](err)
	if ok && hint.Hint() != "" {
		return protocol.Conflict("not_ready", "%s; %s", err, hint.Hint())
	}
	return err
}
