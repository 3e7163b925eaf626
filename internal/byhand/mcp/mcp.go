// Package mcp is gaffer as a server of the Model Context Protocol: what an agent
// can ask for and do as a tool, over the pipe of the program that runs it.
//
// It has no rules of its own but one: who calls has a [Role], and what a role
// may not do is refused. Everything else is asked of the packages that the
// commands ask.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/fleet"
	"gaffer/internal/plan"
	"gaffer/session"
	"gaffer/statefile/host"
	"gaffer/team"
	"gaffer/workflow"
)

const (
	// maxLine is the longest message that is read: the largest plan, with each
	// of its characters escaped.
	maxLine = 16 << 20
	// atOnce is how many calls are worked on at the same time; more wait.
	atOnce = 32
	// maxAsked is how many questions to people one server has open.
	maxAsked = 16
)

// Fleet is what is asked about runs.
type Fleet interface {
	Run(ctx context.Context, id string) (fleet.Run, error)
	Runs(ctx context.Context, everywhere, ended bool) ([]fleet.Run, error)
	// FindRun returns what is meant by a name, the latest run if it is empty.
	FindRun(ctx context.Context, name string) (string, error)

	Ask(ctx context.Context, a fleet.Ask) (id string, err error)
	Question(ctx context.Context, id string) (fleet.Answered, error)
	Withdraw(ctx context.Context, id, why string) error
}

// Submitted is a run that was begun.
type Submitted struct {
	Run      string   `json:"run" jsonschema:"the run's id, for run_status"`
	Where    string   `json:"where" jsonschema:"what works on it: a gaffer in the background, or the workers of a server"`
	Warnings []string `json:"warnings,omitempty" jsonschema:"what may keep it from going on"`
}

// Options are what the server stands on. All of it is safe for concurrent use.
type Options struct {
	Version string
	Caller  Caller
	Agent   string       // the name of the agent that a user started and that uses this server, if it is known
	Self    host.Process // this process: what it takes from the inbox is free again when it has ended

	Workflow *workflow.Store
	Sessions *session.Store
	Team     *team.Store

	Plans plan.Options // how plans are read
	// WithFleet opens what is asked about runs, calls do and closes it again.
	WithFleet func(ctx context.Context, do func(Fleet) error) error
	// Submit makes a run of a plan and sees to it that somebody works on it.
	Submit func(ctx context.Context, p plan.Plan) (Submitted, error)
}

// Server serves one client.
type Server struct {
	opts  Options
	sdk   *sdk.Server
	tools map[string]tool
	turns chan struct{} // of calls that are worked on
	asked chan struct{} // of questions that are open

	gone context.Context // ends when no answer can arrive any more
	left context.CancelFunc
}

const instructions = `gaffer keeps the state of this project's agents: workflow steps, sessions, an inbox of ideas, messages of a team, and runs of plans.
Read with state_read, session_list, inbox_list, message_read and run_status before you assume what others are doing.
An error says what happened, why, and after "next:" what to do.`

// New returns a server with the tools that the caller's role has.
func New(opts Options) *Server {
	s := &Server{
		opts: opts, tools: map[string]tool{},
		turns: make(chan struct{}, atOnce), asked: make(chan struct{}, maxAsked),
	}
	s.gone, s.left = context.WithCancel(context.Background())
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "gaffer", Title: "gaffer", Version: opts.Version}, &sdk.ServerOptions{
		Instructions: instructions, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	for _, t := range s.all() {
		s.tools[t.def.Name] = t
		if opts.Caller.refusal(t) == nil {
			s.sdk.AddTool(t.def, t.handle)
		}
	}
	s.sdk.AddReceivingMiddleware(s.refuse)
	return s
}

// all are the tools of every role, in the order in which they are documented.
func (s *Server) all() []tool {
	return []tool{
		s.stateRead(), s.sessionList(), s.sessionRead(),
		s.stepBegin(), s.stepFinish(), s.eventEmit(),
		s.inboxList(), s.inboxAdd(), s.inboxTake(), s.inboxFinish(),
		s.messageSend(), s.messageRead(), s.personAsk(),
		s.planSubmit(), s.runList(), s.runStatus(),
	}
}

// refuse answers calls of tools that there are, but not for this caller, with
// why that is so. The library knows nothing of them.
func (s *Server) refuse(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if call, ok := req.(*sdk.CallToolRequest); ok && call.Params != nil {
			if t, known := s.tools[call.Params.Name]; known {
				if err := s.opts.Caller.refusal(t); err != nil {
					return failure(err), nil
				}
			}
		}
		return next(ctx, method, req)
	}
}

// Serve answers what comes in until that ends, or ctx does. What was asked for
// until then is answered; who waits for a person is not waited for.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	defer s.left()
	err := s.sdk.Run(context.WithoutCancel(ctx), &pipe{in: in, out: out, stop: ctx, hangUp: s.left})
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case strings.Contains(err.Error(), "maximum line length"):
		return fmt.Errorf("a message has more than the %d MiB that one may have: %w", maxLine>>20, err)
	}
	return fmt.Errorf("the client's messages: %w", err)
}
