package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/internal/text/truncate"
	"gaffer/session"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

type stateArgs struct {
	Path string `json:"path,omitempty" jsonschema:"one field by its path, such as buildRun.chunks[0].status; the whole state if absent"`
}

type stateResult struct {
	Value json.RawMessage  `json:"value" jsonschema:"the field, or the whole state"`
	Steps *workflow.Report `json:"steps,omitempty" jsonschema:"the state of each step of the command in progress; only with the whole state"`
}

func (s *Server) stateRead() tool {
	return define(s, toolDoc{
		name: "state_read", title: "Read the workflow state", need: rightRead,
		text:    "Read the workflow state of the project (.fctry/state.json): the current command and step, what is complete, the build run and the activity feed. Use it before you begin a step, and to see what other agents left for you.",
		example: `{"path": "workflowStep"}`,
	}, func(_ context.Context, _ *sdk.CallToolRequest, a stateArgs) (r stateResult, text string, err error) {
		v, err := s.opts.Workflow.Load()
		if err != nil {
			return r, "", err
		}
		if a.Path != "" {
			if v, err = workflow.Get(v, a.Path); err != nil {
				return r, "", err
			}
			r.Value = v.Raw()
			return r, a.Path + ", from the workflow state:", nil
		}
		if len(v.Raw()) > maxAnswer/2 {
			return r, "", &largeState{v}
		}
		state, _ := workflow.Read(v)
		report := workflow.StepReport(state)
		r.Value, r.Steps = v.Raw(), &report
		return r, stateText(state), nil
	})
}

func stateText(s workflow.State) string {
	if s.CurrentCommand == "" {
		return "No command is under way. The workflow state:"
	}
	step := "no step is worked on"
	if s.WorkflowStep != "" {
		step = "the step is " + truncate.Chars(string(s.WorkflowStep), 60)
	}
	return fmt.Sprintf("The command is %s, %s. The workflow state:", truncate.Chars(string(s.CurrentCommand), 60), step)
}

// largeState reports that the project's workflow state is too long for one answer to a tool call.
type largeState struct{ state jsontree.Value }

func (e *largeState) Error() string {
	return fmt.Sprintf("the whole state has %d KiB, more than the %d that are read at once", len(e.state.Raw())>>10, maxAnswer>>11)
}

// Hint lists the fields of the state, which can be read one by one.
func (e *largeState) Hint() string {
	var fields []string
	for name, v := range e.state.Members() {
		fields = append(fields, fmt.Sprintf("%s (%d B)", truncate.Chars(name, 60), len(v.Raw())))
		if len(fields) == maxItems {
			break
		}
	}
	return "read a field with path: " + strings.Join(fields, ", ")
}

type sessionsArgs struct {
	Status string `json:"status,omitempty" jsonschema:"only sessions with this status, such as running"`
	Limit  int    `json:"limit,omitempty" jsonschema:"maximum number, the latest ones; 50 if absent"`
}

type sessionsResult struct {
	Sessions []sessionEntry `json:"sessions" jsonschema:"the oldest first"`
	LeftOut  int            `json:"left_out" jsonschema:"how many older ones there are"`
}

type sessionEntry struct {
	session.Entry
	Error string `json:"error,omitempty" jsonschema:"why its document could not be read"`
}

func (s *Server) sessionList() tool {
	return define(s, toolDoc{
		name: "session_list", title: "List sessions", need: rightRead,
		text:    "List the sessions of the project (.founder-mode/status): one for each run of several agents, with how many of them are queued, running, complete and failed. Use it to find out whether other agents work on the project; session_read shows one of them.",
		example: `{"status": "running"}`,
		shape:   limitRange(200),
	}, func(_ context.Context, _ *sdk.CallToolRequest, a sessionsArgs) (r sessionsResult, text string, err error) {
		entries, err := s.opts.Sessions.List()
		if err != nil {
			return r, "", err
		}
		all := []sessionEntry{}
		for _, e := range entries {
			if a.Status != "" && string(e.Status) != a.Status {
				continue
			}
			one := sessionEntry{Entry: e}
			if e.Err != nil {
				one.Error = e.Err.Error()
			}
			all = append(all, one)
		}
		r.LeftOut = max(0, len(all)-limitOrDefault(a.Limit))
		r.Sessions = all[r.LeftOut:]
		return r, countText(len(all), "session") + ":", nil
	})
}

type sessionArgs struct {
	ID     string `json:"id,omitempty" jsonschema:"the session's id; the active one if absent"`
	Status string `json:"status,omitempty" jsonschema:"only agents with this status, such as failed"`
	Limit  int    `json:"limit,omitempty" jsonschema:"maximum number of agents; 50 if absent"`
}

type sessionResult struct {
	Session session.Status `json:"session"`
	LeftOut int            `json:"left_out" jsonschema:"how many more agents there are"`
}

func (s *Server) sessionRead() tool {
	return define(s, toolDoc{
		name: "session_read", title: "Read a session", need: rightRead,
		text:    "Read one session: its agents with their status, wave, times, exit codes, errors and log files. Use it to see what the other agents do, or why one failed.",
		example: `{"status": "failed"}`,
		shape:   limitRange(200),
	}, func(_ context.Context, _ *sdk.CallToolRequest, a sessionArgs) (r sessionResult, text string, err error) {
		if a.ID == "" {
			if a.ID, err = s.opts.Sessions.Active(); err != nil {
				return r, "", err
			}
		}
		if r.Session, err = s.opts.Sessions.Load(a.ID); err != nil {
			return r, "", err
		}
		agents := slices.DeleteFunc(slices.Clone(r.Session.Agents), func(g session.Agent) bool {
			return a.Status != "" && string(g.Status) != a.Status
		})
		r.LeftOut = max(0, len(agents)-limitOrDefault(a.Limit))
		r.Session.Agents = append([]session.Agent{}, agents[:len(agents)-r.LeftOut]...)
		return r, fmt.Sprintf("Session %s is %s:", a.ID, truncate.Chars(string(r.Session.Status), 60)), nil
	})
}

// defaultItems is the maximum length of a list that a tool returns, if the call sets no limit.
const defaultItems = 50

func limitOrDefault(limit int) int {
	if limit == 0 {
		return defaultItems
	}
	return limit
}

// limitRange returns a function that restricts the argument "limit" of a tool to values from 1 to
// maximum.
func limitRange(maximum float64) func(map[string]*jsonschema.Schema) {
	return func(p map[string]*jsonschema.Schema) {
		p["limit"].Minimum, p["limit"].Maximum = ptr(1.0), ptr(maximum)
	}
}

func countText(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
