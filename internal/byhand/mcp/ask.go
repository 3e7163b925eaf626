package mcp

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/fleet"
)

const (
	// defaultWait and maxWait are the default and the longest time to wait for the user's answer to
	// a question.
	defaultWait = 30 * time.Minute
	maxWait     = 24 * time.Hour
	// pollInterval is how often gaffer checks whether the user has answered a question.
	// progressInterval is how often it sends a progress notification to the MCP client while it
	// waits.
	pollInterval     = 500 * time.Millisecond
	progressInterval = 5 * time.Second
	// askTimeout and withdrawTimeout are the time limits for asking and for withdrawing a question.
	askTimeout      = time.Minute
	withdrawTimeout = 10 * time.Second
)

type askArgs struct {
	Question      string   `json:"question" jsonschema:"what the user is to decide, in words that are clear without this conversation"`
	Options       []string `json:"options,omitempty" jsonschema:"answers to choose from; without them any text is an answer"`
	WithinSeconds int      `json:"within_seconds,omitempty" jsonschema:"how many seconds the user has to answer; 1800 if absent"`
}

type askResult struct {
	Answer string `json:"answer" jsonschema:"the user's answer; the reason if the user refused"`
	Denied bool   `json:"denied" jsonschema:"the user refused what was asked for"`
	By     string `json:"by,omitempty" jsonschema:"who answered"`
}

func (s *Server) personAsk() tool {
	return define(s, toolDoc{
		name: "person_ask", title: "Ask the user", need: rightNote, waits: true,
		text:    "Ask the user and wait for the answer. It is shown in gaffer's terminal views, its page and its notifications. Use it for what only the user may decide: something that cannot be undone, costs money, or that the task leaves open and you cannot find out. It may take long; decide yourself what you can.",
		example: `{"question": "The migration drops the column users.legacy_id. May I run it?", "options": ["yes", "no, keep the column"]}`,
		shape: func(p map[string]*jsonschema.Schema) {
			p["question"].MinLength, p["question"].MaxLength = ptr(1), ptr(8000)
			p["options"].MaxItems, p["options"].Items.MaxLength = ptr(20), ptr(500)
			p["within_seconds"].Minimum, p["within_seconds"].Maximum = ptr(1.0), ptr(maxWait.Seconds())
		},
	}, s.ask)
}

func (s *Server) ask(ctx context.Context, req *sdk.CallToolRequest, a askArgs) (r askResult, text string, err error) {
	select {
	case s.questionSlots <- struct{}{}:
		defer func() { <-s.questionSlots }()
	default:
		return r, "", &busyError{}
	}
	within := time.Duration(a.WithinSeconds) * time.Second
	if within == 0 {
		within = defaultWait
	}
	q := fleet.Ask{From: s.asker(req), Ref: rand.Text(), Text: a.Question, Options: a.Options, Within: within, Attempt: s.opts.Caller.Attempt}
	// The tool call ends early if the client disconnects or cancels the call, or if the server is
	// stopped.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.clientGone, cancel)()
	err = s.opts.WithFleet(ctx, func(f Fleet) (err error) {
		r, err = waitFor(ctx, f, q, progress(req, q))
		return err
	})
	if r.Denied {
		return r, strings.TrimSuffix("refused: "+r.Answer, ": "), err
	}
	return r, "answered: " + r.Answer, err
}

// asker returns the name of the agent that asks a question. The user sees this name, and uses it to
// answer. For the agent of a task, the name is RUN/TASK. Otherwise it is the name of the agent that
// uses this server. If that is unknown, asker makes a name from the name of the MCP client and the
// pid of this process.
func (s *Server) asker(req *sdk.CallToolRequest) string {
	if c := s.opts.Caller; c.Task != "" {
		return c.Run + "/" + c.Task
	}
	if s.opts.Agent != "" {
		return s.opts.Agent
	}
	name := ""
	if p := req.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
		name = p.ClientInfo.Name
	}
	return fmt.Sprintf("%s-%d", plainName(name), s.opts.Self.PID)
}

// plainName returns a form of a name that is easy to type: at most 40 lower-case letters, digits
// and hyphens. For an empty name it returns "agent".
func plainName(name string) string {
	const maxLength = 40
	name = strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name), "-")
	if name == "" {
		return "agent"
	}
	return name[:min(len(name), maxLength)]
}

// waitFor asks the user a question, and waits for the answer, at most for the time q.Within. If no
// answer has come by then, or ctx ends, or the fleet returns an error, waitFor withdraws the question.
func waitFor(ctx context.Context, f Fleet, q fleet.Ask, notify func(waited time.Duration)) (askResult, error) {
	id, err := askQuestion(ctx, f, q)
	if err != nil {
		return askResult{}, err
	}
	begun, notified := time.Now(), time.Duration(0)
	notify(0)
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	for {
		got, err := f.Question(ctx, id)
		switch waited := time.Since(begun); {
		case err != nil && ctx.Err() == nil:
			return askResult{}, withdraw(ctx, f, id, "the asker could not look for the answer", err)
		case err == nil && got.Closed && got.By == "" && got.Answer == "" && !got.Denied:
			return askResult{}, &unansweredError{}
		case err == nil && got.Closed:
			return askResult{Answer: got.Answer, Denied: got.Denied, By: got.By}, nil
		case waited >= q.Within:
			return askResult{}, withdraw(ctx, f, id, "no answer in time", &unansweredError{q.Within})
		case waited-notified >= progressInterval:
			notified = waited
			notify(waited)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return askResult{}, withdraw(ctx, f, id, "the asker does not wait any more", ctx.Err())
		}
	}
}

// askQuestion asks the user a question and returns the question's id. Once it has sent the request,
// it ignores a cancellation of ctx: otherwise it would not get the id, and without the id the
// question could not be withdrawn.
func askQuestion(ctx context.Context, f Fleet, q fleet.Ask) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	return f.Ask(ctx, q)
}

func withdraw(ctx context.Context, f Fleet, id, why string, because error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	if err := f.Withdraw(ctx, id, why); err != nil {
		return fmt.Errorf("%w; and the question could not be taken back: %w", because, err)
	}
	return because
}

// progress returns a function that notifies the client how long the tool call has waited for the
// user. If the client has not asked for progress, the function does nothing.
func progress(req *sdk.CallToolRequest, q fleet.Ask) func(time.Duration) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func(time.Duration) {}
	}
	return func(waited time.Duration) {
		// Ignore errors: if the client is gone, sending the result of the tool call will fail too.
		_ = req.Session.NotifyProgress(context.Background(), &sdk.ProgressNotificationParams{
			ProgressToken: token, Progress: waited.Seconds(), Total: q.Within.Seconds(),
			Message: fmt.Sprintf("waits for the user: 'gaffer answer %s'", fleet.QuestionName("", q.From)),
		})
	}
}

// unansweredError reports a question that was not answered in time, or that was closed without an
// answer.
type unansweredError struct{ within time.Duration }

func (e *unansweredError) Error() string {
	if e.within == 0 {
		return "the question was closed without an answer"
	}
	return fmt.Sprintf("no answer came within %s, and the question was withdrawn", e.within)
}

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *unansweredError) NotFound() bool { return true }

// Hint returns advice for the agent that asked the question.
func (e *unansweredError) Hint() string {
	return "do what can be undone, leave the rest, and say in your answer what was not decided"
}

// busyError reports that this server already has the maximum number of open questions.
type busyError struct{}

func (*busyError) Error() string {
	return fmt.Sprintf("%d questions wait for the user already", maxAsked)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (*busyError) Conflict() bool { return true }

// Hint returns advice for the agent that wanted to ask a question.
func (*busyError) Hint() string { return "wait for the answers, or ask for several things at once" }
