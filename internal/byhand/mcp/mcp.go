// Package mcp is gaffer's server for the Model Context Protocol. It offers tools to an agent over
// the standard streams of the process.
//
// The package itself only controls access: a caller has a [Role], and the server refuses calls of
// tools that the role does not permit. The tools use the same packages as gaffer's commands.
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
	// maxLine is the maximum length of a message of the protocol, in bytes. It leaves room for a
	// plan of maxPlan ASCII characters in which quotes and line breaks are escaped.
	maxLine = 16 << 20
	// maxCalls is the maximum number of tool calls that run at the same time. Further calls wait
	// until another call ends. Calls that wait for the user's answer do not count.
	maxCalls = 32
	// maxAsked is the maximum number of questions to the user that one server keeps open at a time.
	maxAsked = 16
)

// Fleet gives the tools access to runs and questions.
type Fleet interface {
	Run(ctx context.Context, id string) (fleet.Run, error)
	Runs(ctx context.Context, everywhere, ended bool) ([]fleet.Run, error)
	// FindRun returns the id of the run that the parameter name refers to. name is the run's id,
	// the beginning of the id, or the name of the run's plan. An empty name means the latest run.
	FindRun(ctx context.Context, name string) (string, error)

	Ask(ctx context.Context, a fleet.Ask) (id string, err error)
	Question(ctx context.Context, id string) (fleet.Answered, error)
	Withdraw(ctx context.Context, id, why string) error
}

// Submitted describes a run that the tool plan_submit has created.
type Submitted struct {
	Run      string   `json:"run" jsonschema:"the run's id, for run_status"`
	Where    string   `json:"where" jsonschema:"what runs it: a gaffer process in the background, or the workers of a server"`
	Warnings []string `json:"warnings,omitempty" jsonschema:"what may prevent the run from continuing"`
}

// Options configures a server. All functions must be safe for concurrent use.
type Options struct {
	Version string
	Caller  Caller
	// Agent is the name of the agent that uses this server, such as claude-4711. It is empty if
	// unknown.
	Agent string
	// Self is this process. The project's inbox, a list of ideas for work, stores it as the owner
	// of each entry that the agent takes. When this process ends, other processes may take over
	// these entries.
	Self host.Process

	Workflow *workflow.Store
	Sessions *session.Store
	Team     *team.Store

	Plans plan.Options // options for reading plans
	// WithFleet opens the fleet, calls fn and closes the fleet again.
	WithFleet func(ctx context.Context, fn func(Fleet) error) error
	// Submit submits a plan as a run. If the run is stored on this machine and not on a server,
	// Submit also starts a process that works on the run.
	Submit func(ctx context.Context, p plan.Plan) (Submitted, error)
}

// Server offers gaffer's tools to one client over MCP.
type Server struct {
	opts          Options
	sdk           *sdk.Server
	tools         map[string]tool
	callSlots     chan struct{} // semaphore with a slot for each running call
	questionSlots chan struct{} // semaphore with a slot for each question that the user has not answered yet

	// clientGone is cancelled when the input from the client has ended, or when sending to the
	// client has failed. This ends the tool calls that wait for the user.
	clientGone     context.Context
	markClientGone context.CancelFunc
}

const instructions = `gaffer keeps the state of this project's agents: workflow steps, sessions, an inbox of ideas, messages of a team, and runs of plans.
Read with state_read, session_list, inbox_list, message_read and run_status before you assume what others are doing.
An error says what happened, why, and after "next:" what to do.`

// New returns a server with the tools that the caller's role permits.
func New(opts Options) *Server {
	s := &Server{
		opts: opts, tools: map[string]tool{},
		callSlots: make(chan struct{}, maxCalls), questionSlots: make(chan struct{}, maxAsked),
	}
	s.clientGone, s.markClientGone = context.WithCancel(context.Background())
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "gaffer", Title: "gaffer", Version: opts.Version}, &sdk.ServerOptions{
		Instructions: instructions, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	for _, t := range s.allTools() {
		s.tools[t.def.Name] = t
		if opts.Caller.refusal(t) == nil {
			s.sdk.AddTool(t.def, t.handle)
		}
	}
	s.sdk.AddReceivingMiddleware(s.refuse)
	return s
}

// allTools returns the tools of every role, in the order of the documentation.
func (s *Server) allTools() []tool {
	return []tool{
		s.stateRead(), s.sessionList(), s.sessionRead(),
		s.stepBegin(), s.stepFinish(), s.eventEmit(),
		s.inboxList(), s.inboxAdd(), s.inboxTake(), s.inboxFinish(),
		s.messageSend(), s.messageRead(), s.personAsk(),
		s.planSubmit(), s.runList(), s.runStatus(),
	}
}

// refuse is middleware that answers a call if the tool exists, but the caller may not use it. The
// answer says why. The MCP library knows only the permitted tools, so it could not give this
// answer.
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

// Serve handles the client's requests until the input stream or ctx ends. Then it still answers the
// requests that it has received, for at most finishTimeout. Calls that wait for the user fail.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	defer s.markClientGone()
	err := s.sdk.Run(context.WithoutCancel(ctx), &streamTransport{in: in, out: out, stop: ctx, inputEnded: s.markClientGone})
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case strings.Contains(err.Error(), "maximum line length"):
		return fmt.Errorf("a message has more than the %d MiB that one may have: %w", maxLine>>20, err)
	}
	return fmt.Errorf("the client's messages: %w", err)
}
