package build

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/runview"
	"gaffer/internal/exit"
	"gaffer/internal/flow/build"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/text/display"
	"gaffer/workflow"
)

// resume holds the flags and the argument PLAN of 'gaffer build resume'.
type resume struct {
	options
	fresh, cancel bool
	rebuild, keep []string
	plan          string
}

func newResume(e *env.Env) *cobra.Command {
	var r resume
	cmd := &cobra.Command{
		Use:                   "resume [PLAN]",
		DisableFlagsInUseLine: true,
		Short:                 "Continue an interrupted build",
		Long: `Continue the build in .fctry/state.json. Agents that are still running are kept,
completed chunks stay, and all others are built. In a terminal the command shows
what is done and what remains, and asks. Otherwise it resumes, unless a flag
says otherwise.

If the spec of a completed chunk has changed, the chunk and the section are
shown. --rebuild builds the chunk again, --keep leaves it; 'all' means every
such chunk. Without a terminal and without a decision, nothing runs and the exit
code is 4.

A chunk with a status of another program, such as awaiting-user, is not built,
nor are the chunks that depend on it. The command shows what such a chunk needs,
and 'gaffer build done' marks it as done.

--fresh starts a new build, with PLAN or the same plan, and keeps the old build
run in .fctry/builds. --cancel changes nothing. A build of another program can
be resumed, too; PLAN then provides the prompts and checks of its chunks. With
--json the command prints the choices and runs nothing, unless --yes is given.`,
		Example: "  gaffer build resume\n  gaffer build resume --rebuild 2 --keep 3\n  gaffer build resume --json | jq .stale",
		Args:    cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&r.fresh, "fresh", false, "start again from the beginning, with PLAN or the same plan")
	flags.BoolVar(&r.cancel, "cancel", false, "leave everything as it is")
	flags.StringSliceVar(&r.rebuild, "rebuild", nil, "build `CHUNK` again although it is completed; may be repeated")
	flags.StringSliceVar(&r.keep, "keep", nil, "keep `CHUNK` although its spec has changed; may be repeated")
	flags.BoolVar(&r.yes, "yes", false, "resume without being asked")
	flags.BoolVar(&r.detach, "detach", false, "let it run in the background")
	r.open = runview.ShowFlag(cmd)
	r.json = env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if r.fresh && (r.cancel || len(r.rebuild)+len(r.keep) > 0) || r.cancel && len(r.rebuild)+len(r.keep) > 0 {
			return exit.Usage(errors.New("--fresh, --cancel and --rebuild or --keep exclude each other"))
		}
		if err := runview.CheckFlags(e, *r.open, r.detach, false); err != nil {
			return err
		}
		if len(args) > 0 {
			r.plan = args[0]
		}
		return runview.With(cmd.Context(), e, func(t *runview.View) error { return r.run(cmd.Context(), e, t, false) })
	}
	return cmd
}

// question is the JSON form of an interrupted build, and of the choices that the user has for it.
type question struct {
	Resumable bool             `json:"resumable"`
	RunID     string           `json:"runId"`
	Status    string           `json:"status"`
	StartedAt string           `json:"startedAt"`
	Total     int              `json:"total"`
	Run       string           `json:"run,omitempty"` // id of gaffer's run of this build; empty if there is none
	Done      []workflow.Chunk `json:"done"`
	Remaining []remaining      `json:"remaining"`
	// Held holds the chunks that gaffer does not build: those that the user has to do, and those
	// that depend on such a chunk.
	Held    []held            `json:"held"`
	Problem string            `json:"problem,omitempty"`
	Stale   []stale           `json:"stale"`
	Choices []workflow.Choice `json:"choices"`
}

type remaining struct {
	workflow.Chunk
	WaitsFor []workflow.ID `json:"waitsFor"`
}

type held struct {
	ID     workflow.ID          `json:"id"`
	Name   string               `json:"name"`
	Status workflow.ChunkStatus `json:"status"`
	Why    string               `json:"why"`
	Note   string               `json:"note,omitempty"`
	// Command is the command line that marks the chunk as done. It is empty if the chunk only waits
	// for another chunk that gaffer does not build.
	Command string `json:"command,omitempty"`
}

type stale struct {
	ID      workflow.ID       `json:"id"`
	Name    string            `json:"name"`
	Section string            `json:"section,omitempty"`
	Built   string            `json:"built"`
	Now     string            `json:"now"`
	Choices []workflow.Choice `json:"choices"`
}

func (r resume) run(ctx context.Context, e *env.Env, t *runview.View, asked bool) error {
	f, err := t.App.Builds.Find(ctx)
	if err != nil {
		return err
	}
	if f.Run == nil || len(f.Resume.Remaining) == 0 && f.Engine == "" {
		return &buildrun.NothingError{Why: "the state has none that is incomplete"}
	}
	if *r.json && !r.yes && !asked {
		return e.PrintJSON(questionOf(f))
	}
	if !asked && !r.fresh && !r.cancel && !r.yes && e.Interactive() && f.Owner == 0 {
		e.Talk("%s", display.PrintableLines(f.Resume.Text(e.Now())))
		choice, err := choose(ctx, e, "", 3)
		if err != nil {
			return err
		}
		switch choice {
		case 2:
			r.fresh = true
		case 3:
			r.cancel = true
		}
	}
	switch {
	case r.cancel:
		e.Talk("build %s is left as it is", display.Printable(f.Run.RunID))
		return nil
	case r.fresh:
		return r.startNew(ctx, e, t)
	}
	again, err := r.decide(ctx, e, f)
	if err != nil {
		return err
	}
	given, err := r.given(e)
	if err != nil {
		return err
	}
	id, err := t.App.Builds.Resume(ctx, buildrun.Resumption{Rebuild: again, Plan: given})
	if err != nil {
		return err
	}
	for _, h := range f.Resume.Held {
		e.Talk("%s", display.PrintableLines(h.Text()))
	}
	return r.work(ctx, t, id)
}

// given reads the plan that the user named. It returns nil if the user named no plan.
func (r resume) given(e *env.Env) (*build.Plan, error) {
	if r.plan == "" {
		return nil, nil
	}
	p, err := r.read(e, r.plan)
	return &p, err
}

// startNew starts a new build with the plan that the user named. If the user named no plan, it uses
// the plan of the interrupted build.
func (r resume) startNew(ctx context.Context, e *env.Env, t *runview.View) error {
	p, err := r.given(e)
	if err != nil {
		return err
	}
	if p == nil {
		same, err := t.App.Builds.Plan(ctx)
		if err != nil {
			return err
		}
		p = &same
	}
	id, err := t.App.Builds.Start(ctx, buildrun.Request{Plan: *p, Fresh: true, Skip: true})
	if err != nil {
		return err
	}
	return r.work(ctx, t, id)
}

// decide returns the ids of the completed chunks to build again: those that the flag --rebuild
// names, and those that the user chooses. If the spec of a chunk has changed and neither --rebuild
// nor --keep names the chunk, decide asks the user about it. If it cannot ask because there is no
// terminal, it returns an error.
func (r resume) decide(ctx context.Context, e *env.Env, f buildrun.Found) (again []workflow.ID, err error) {
	open := map[workflow.ID]workflow.Stale{}
	for _, s := range f.Resume.Stale {
		if _, known := open[s.Chunk.ID]; !known {
			open[s.Chunk.ID] = s
		}
	}
	for _, id := range r.rebuild {
		if id != "all" {
			again = append(again, workflow.ID(id))
		}
	}
	for _, s := range f.Resume.Stale {
		id := s.Chunk.ID
		if _, undecided := open[id]; !undecided {
			continue
		}
		delete(open, id)
		switch {
		case slices.Contains(again, id) || named(r.keep, id):
		case named(r.rebuild, id):
			again = append(again, id)
		case !e.Interactive():
			return nil, &exit.Error{
				Code: exit.CodeConflict, Err: errors.New(s.Text()),
				Next: fmt.Sprintf("decide with --rebuild %s or --keep %s; 'all' stands for every such chunk", id, id),
			}
		default:
			e.Talk("%s", display.PrintableLines(s.Text()))
			choice, err := choose(ctx, e, "", 2)
			if err != nil {
				return nil, err
			}
			if choice == 1 {
				again = append(again, id)
			}
		}
	}
	return again, nil
}

func named(list []string, id workflow.ID) bool {
	return slices.Contains(list, string(id)) || slices.Contains(list, "all")
}

func questionOf(f buildrun.Found) question {
	q := question{
		Resumable: f.Resumable, RunID: f.Run.RunID, Status: string(f.Run.Status), StartedAt: f.Run.StartedAt, Total: f.Run.Total(),
		Run: f.Engine, Done: append([]workflow.Chunk{}, f.Resume.Done...), Remaining: []remaining{}, Held: []held{}, Stale: []stale{},
		Choices: f.Resume.Choices(),
	}
	if f.Problem != nil {
		q.Problem = f.Problem.Error()
	}
	for _, h := range f.Resume.Held {
		of := held{ID: h.ID, Name: h.Name, Status: h.Status, Why: h.Why, Note: h.Note}
		if h.ByHand {
			of.Command = "gaffer build done " + string(h.ID)
		}
		q.Held = append(q.Held, of)
	}
	for _, w := range f.Resume.Remaining {
		q.Remaining = append(q.Remaining, remaining{w.Chunk, append([]workflow.ID{}, w.For...)})
	}
	for _, s := range f.Resume.Stale {
		q.Stale = append(q.Stale, stale{s.Chunk.ID, s.Chunk.Name, s.Section, s.Built, s.Now, []workflow.Choice{
			{Number: 1, Text: "Rebuild"}, {Number: 2, Text: "Keep old result"},
		}})
	}
	return q
}
