package mcp

import (
	"context"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/fleet"
	"gaffer/internal/text/truncate"
)

type runsArgs struct {
	Ended bool `json:"ended,omitempty" jsonschema:"also runs that have ended"`
	Limit int  `json:"limit,omitempty" jsonschema:"maximum number, the latest ones; 50 if absent"`
}

type runsResult struct {
	Runs    []runLine `json:"runs"`
	LeftOut int       `json:"left_out" jsonschema:"how many more there are"`
}

// runLine holds what the tools run_list and run_status show about a run.
type runLine struct {
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	Status  string       `json:"status" jsonschema:"running, complete, failed or cancelled"`
	Counts  fleet.Counts `json:"counts" jsonschema:"its tasks by status"`
	Spent   fleet.Cost   `json:"spent"`
	Created time.Time    `json:"created"`
	Ended   time.Time    `json:"ended,omitzero"`
	Note    string       `json:"note,omitempty" jsonschema:"what prevents the run from continuing"`
}

func runLineOf(r fleet.Run) runLine {
	l := runLine{
		ID: r.ID, Name: truncate.Chars(r.Name, 200), Status: string(r.Status), Counts: r.Counts, Spent: r.Spent,
		Created: r.Created, Ended: r.Ended, Note: truncate.Chars(r.Stopping, 500),
	}
	for _, lane := range r.Lanes {
		l.Note += fmt.Sprintf(" %s is paused until %s.", truncate.Chars(lane.Name, 60), lane.Until.Format(time.RFC3339))
	}
	return l
}

func (s *Server) runList() tool {
	return define(s, toolDoc{
		name: "run_list", title: "List runs", need: rightRead,
		text:    "List the runs of plans in this project. Use it to find the id of a run, or to see whether one is running before you submit another.",
		example: `{"ended": true, "limit": 5}`,
		shape:   limitRange(200),
	}, func(ctx context.Context, _ *sdk.CallToolRequest, a runsArgs) (r runsResult, text string, err error) {
		var list []fleet.Run
		err = s.opts.WithFleet(ctx, func(f Fleet) (err error) {
			list, err = f.Runs(ctx, false, a.Ended)
			return err
		})
		list = fleet.Merge(list, nil) // Merge sorts the runs, the latest first
		r.LeftOut = max(0, len(list)-limitOrDefault(a.Limit))
		r.Runs = []runLine{}
		for _, run := range list[:len(list)-r.LeftOut] {
			r.Runs = append(r.Runs, runLineOf(run))
		}
		return r, countText(len(list), "run") + ":", err
	})
}

type statusArgs struct {
	Run    string `json:"run,omitempty" jsonschema:"the run's id, or its beginning; the latest if absent"`
	Status string `json:"status,omitempty" jsonschema:"only tasks with this status"`
	Limit  int    `json:"limit,omitempty" jsonschema:"maximum number of tasks; 50 if absent"`
}

type statusResult struct {
	Run     runLine    `json:"run"`
	Tasks   []taskLine `json:"tasks" jsonschema:"in the order of the plan"`
	LeftOut int        `json:"left_out" jsonschema:"how many more tasks there are"`
}

// taskLine holds what the tool run_status shows about a task, including the state of the task's
// last attempt.
type taskLine struct {
	ID       string   `json:"id"`
	Name     string   `json:"name,omitempty"`
	Status   string   `json:"status"`
	Agent    string   `json:"agent,omitempty"`
	After    []string `json:"after,omitempty" jsonschema:"the tasks that it waits for"`
	Tries    int      `json:"tries" jsonschema:"attempts so far"`
	Outcome  string   `json:"outcome,omitempty" jsonschema:"how the last attempt failed, or why it was cancelled"`
	Doing    string   `json:"doing,omitempty" jsonschema:"what its agent does now"`
	Summary  string   `json:"summary,omitempty" jsonschema:"its agent's last message, or what went wrong"`
	Question string   `json:"question,omitempty" jsonschema:"the question that the user must answer"`
	Asked    string   `json:"question_name,omitempty" jsonschema:"the name of that question: 'gaffer answer NAME' answers it"`
	Branch   string   `json:"branch,omitempty"`
	Log      string   `json:"log,omitempty"`
}

func taskLineOf(t fleet.Task) taskLine {
	l := taskLine{
		ID: t.ID, Name: truncate.Chars(t.Name, 200), Status: string(t.Status), Agent: t.Agent, After: t.After, Tries: t.Tries,
		Outcome: truncate.Chars(t.Outcome, 200), Branch: t.Branch,
	}
	if t.Question != nil {
		l.Question, l.Asked = truncate.Chars(t.Question.Text, 1000), fleet.QuestionName(t.Run, t.ID)
	}
	if a := t.Attempt; a != nil {
		l.Doing, l.Summary, l.Log = truncate.Chars(a.Doing, 200), truncate.Chars(a.Summary, 1000), a.Log
	}
	return l
}

func (s *Server) runStatus() tool {
	return define(s, toolDoc{
		name: "run_status", title: "Read a run's status", need: rightRead,
		text:    "Read the state of a run: each task with its status, what its agent does now, how often it was tried, why it failed, and what it waits for. Use it after plan_submit, or to find out whether work that yours depends on is done.",
		example: `{"status": "failed"}`,
		shape: func(p map[string]*jsonschema.Schema) {
			limitRange(200)(p)
			p["status"].Enum = oneOf(fleet.Queued, fleet.Running, fleet.Complete, fleet.Failed, fleet.Cancelled)
		},
	}, func(ctx context.Context, _ *sdk.CallToolRequest, a statusArgs) (r statusResult, text string, err error) {
		var run fleet.Run
		err = s.opts.WithFleet(ctx, func(f Fleet) error {
			id, err := f.FindRun(ctx, a.Run)
			if err != nil {
				return err
			}
			run, err = f.Run(ctx, id)
			return err
		})
		r.Run, r.Tasks = runLineOf(run), []taskLine{}
		for _, t := range run.Tasks {
			switch {
			case a.Status != "" && string(t.Status) != a.Status:
			case len(r.Tasks) < limitOrDefault(a.Limit):
				r.Tasks = append(r.Tasks, taskLineOf(t))
			default:
				r.LeftOut++
			}
		}
		return r, fmt.Sprintf("Run %s is %s, tasks complete: %d of %d.", run.ID, run.Status, run.Counts.Complete, run.Counts.Total), err
	})
}
