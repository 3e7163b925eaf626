package mcp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/internal/exit"
	"gaffer/internal/plan"
	"gaffer/statefile/host"
)

// maxPlan is the maximum length of a plan, in characters.
const maxPlan = 4 << 20

type planArgs struct {
	Text  string `json:"text,omitempty" jsonschema:"the plan in gaffer's YAML: a name, and tasks, each with an id, a prompt, and after with the ids that it waits for"`
	File  string `json:"file,omitempty" jsonschema:"instead of text: the plan's file or folder, as a path from the project's root"`
	Check bool   `json:"check_only,omitempty" jsonschema:"only check the plan; nothing runs"`
}

type planResult struct {
	Name      string     `json:"name"`
	Tasks     []string   `json:"tasks" jsonschema:"the ids of its tasks"`
	Warnings  []string   `json:"warnings" jsonschema:"what may be a mistake in the plan"`
	Submitted *Submitted `json:"submitted,omitempty" jsonschema:"absent with check_only"`
}

func (s *Server) planSubmit() tool {
	return define(s, toolDoc{
		name: "plan_submit", title: "Submit a plan", need: rightSubmit,
		text:    "Submit a plan of tasks for other agents, which gaffer runs in the background. It costs money: use it only when the user wants work done by several agents, and call it with check_only first. run_status shows its progress.",
		example: `{"text": "name: health\ntasks:\n  - id: api\n    agent: claude\n    prompt: Add GET /health.\n  - id: docs\n    agent: claude\n    prompt: Document GET /health.\n    after: [api]\n", "check_only": true}`,
		shape: func(p map[string]*jsonschema.Schema) {
			p["text"].MaxLength, p["file"].MaxLength = ptr(maxPlan), ptr(4096)
		},
	}, func(ctx context.Context, _ *sdk.CallToolRequest, a planArgs) (r planResult, text string, err error) {
		p, err := s.loadPlan(a)
		if err != nil {
			return r, "", err
		}
		r = planResult{Name: p.Name, Tasks: []string{}, Warnings: []string{}}
		for _, t := range p.Tasks {
			r.Tasks = append(r.Tasks, t.ID)
		}
		for _, w := range p.Warnings {
			r.Warnings = append(r.Warnings, w.String())
		}
		if a.Check {
			return r, "the plan is right: " + countText(len(p.Tasks), "task"), nil
		}
		done, err := s.opts.Submit(ctx, p)
		r.Submitted = &done
		return r, fmt.Sprintf("run %s: %s", done.Run, countText(len(p.Tasks), "task")), err
	})
}

func (s *Server) loadPlan(a planArgs) (p plan.Plan, err error) {
	switch {
	case (a.Text == "") == (a.File == ""):
		return p, &planError{problem: "give either text or file", next: "text has the plan itself, file the path of one"}
	case a.Text != "":
		p, err = plan.Parse(host.OS(), []byte(a.Text), s.opts.Plans)
	case !filepath.IsLocal(a.File):
		return p, &planError{problem: fmt.Sprintf("file %.200q is not below the project's root", a.File), next: "give a path from there, such as plans/release.yaml"}
	default:
		p, err = s.loadPlanFile(a.File)
	}
	if problems, ok := errors.AsType[plan.Problems](err); ok {
		return p, &planError{problem: "nothing runs:\n" + listProblems(problems), next: "correct it; 'gaffer schema plan' prints what a plan may have"}
	}
	if err != nil {
		return p, err
	}
	if p.Format == plan.Beads {
		return p, &planError{problem: "beads are dispatched, not submitted", next: "'gaffer dispatch --from FILE' does it"}
	}
	if len(p.Tasks) == 0 {
		return p, &planError{problem: "nothing is left to do", next: "every task of it is ticked"}
	}
	return p, nil
}

// loadPlanFile reads a plan from a file, which must exist. On the command line, the user may also
// give the text of a prompt, or a list of ids of prompts, in place of a file name. Here that is not
// allowed, because a misspelt file name would then be run as a prompt.
func (s *Server) loadPlanFile(file string) (p plan.Plan, err error) {
	next := "give a path from the project's root, such as plans/release.yaml"
	if _, err := host.OS().Stat(opLook, filepath.Join(s.opts.Plans.Dir, file)); err != nil {
		return p, exit.WithHint(fmt.Errorf("the plan: %w", err), next)
	}
	p, err = plan.Load(host.OS(), file, s.opts.Plans)
	if err == nil && (p.Format == plan.PromptText || p.Format == plan.List) {
		return p, &planError{problem: fmt.Sprintf("file %.200q is taken for a prompt or ids", file), next: next}
	}
	return p, err
}

const opLook host.Op = "look at plan"

func listProblems(problems plan.Problems) string {
	const limit = 20
	var lines []string
	for i, p := range problems {
		if i == limit {
			lines = append(lines, fmt.Sprintf("and %d more", len(problems)-limit))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// planError reports why a plan cannot be submitted.
type planError struct{ problem, next string }

func (e *planError) Error() string { return "the plan: " + e.problem }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *planError) Invalid() bool { return true }

// Hint returns advice for the agent that tried to submit the plan.
func (e *planError) Hint() string { return e.next }
