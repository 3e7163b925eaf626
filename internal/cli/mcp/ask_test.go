package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/internal/testkit/testenv"
)

// asks reports whether an agent whose name starts with name has an open question.
func (p project) asks(name string) bool {
	return p.gaffer("answer", name, "--json").Run() == nil
}

// awaitAsked waits until name has an open question or, if asked is false, until it has none.
func (p project) awaitAsked(t *testing.T, name string, asked bool) {
	t.Helper()
	testenv.Wait(t, fmt.Sprintf("a question of %s: %v", name, asked), func() error {
		out, err := p.gaffer("answer", name, "--json").CombinedOutput()
		if (err == nil) != asked {
			return fmt.Errorf("gaffer answer says %s", out)
		}
		return nil
	})
}

// answer waits in the background for a question of the agent called name, and answers it with these
// words.
func (p project) answer(name string, words ...string) {
	done := make(chan struct{})
	p.t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		for p.t.Context().Err() == nil && !p.asks(name) {
		}
		if out, err := p.gaffer(append([]string{"answer", name}, words...)...).CombinedOutput(); err != nil {
			p.t.Errorf("answer %s: %v\n%s", name, err, out)
		}
	}()
}

type answered struct {
	Answer string
	Denied bool
}

func TestTheUserIsAskedAndAnswers(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newProject(t)
	c := p.serve(nil)
	var got answered
	p.answer("test-client", "--option", "2")
	c.call("person_ask", `{"question": "Which?", "options": ["this", "that"]}`, &got)
	if got.Answer != "that" || got.Denied {
		t.Errorf("answered %+v", got)
	}
	p.answer("test-client", "--deny", "not today")
	c.call("person_ask", `{"question": "May I?"}`, &got)
	if got.Answer != "not today" || !got.Denied {
		t.Errorf("answered %+v", got)
	}
	c.refused("person_ask", `{"question": "Anybody?", "within_seconds": 1}`, "no answer came within 1s", "next: ")
	if p.asks("test-client") {
		t.Error("what no answer in time is still asked")
	}
}

func TestWaitingForTheUserReportsProgress(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	var progress atomic.Pointer[sdk.ProgressNotificationParams]
	c := p.serveWith(nil, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
		progress.Store(r.Params)
	}})
	params := &sdk.CallToolParams{Name: "person_ask", Arguments: json.RawMessage(`{"question": "q"}`)}
	params.SetProgressToken("token")
	p.answer("test-client", "yes")
	if r, err := c.session.CallTool(t.Context(), params); err != nil || r.IsError {
		t.Fatalf("%v, %+v", err, r)
	}
	testenv.Wait(t, "progress", func() error {
		if progress.Load() == nil {
			return errors.New("no notification")
		}
		return nil
	})
	if n := progress.Load(); !strings.Contains(n.Message, "gaffer answer test-client-") || n.Total != 1800 {
		t.Errorf("progress %+v", n)
	}
}

func TestAQuestionIsWithdrawnWithItsAsker(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*client, context.CancelFunc){
		"the request is cancelled": func(_ *client, cancel context.CancelFunc) { cancel() },
		"the server gets a signal": func(c *client, _ context.CancelFunc) {
			_ = c.process.Signal(syscall.SIGTERM)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			c := p.serve(nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = c.session.CallTool(ctx, &sdk.CallToolParams{Name: "person_ask", Arguments: json.RawMessage(`{"question": "q"}`)})
			}()
			p.awaitAsked(t, "test-client", true)
			leave(c, cancel)
			p.awaitAsked(t, "test-client", false)
			<-over
		})
	}
}

// deaf starts a server whose client asks the user a question and then reads no more output.
func deaf(t *testing.T, p project) (cmd *exec.Cmd, in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	cmd = p.gaffer("mcp")
	in, out = pipes(t, cmd)
	const ask = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"person_ask","arguments":{"question":"q"}}}`
	if _, err := io.WriteString(in, hello+ask+"\n"); err != nil {
		t.Fatal(err)
	}
	p.awaitAsked(t, "c-", true)
	return cmd, in, out
}

func TestAQuestionIsWithdrawnAtTheEndOfTheInput(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	cmd, in, _ := deaf(t, p)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if code := ended(t, cmd); code != 0 || p.asks("c-") {
		t.Errorf("exit code %d, or it is still asked", code)
	}
}

func TestAQuestionIsWithdrawnIfTheClientStopsReading(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	cmd, in, out := deaf(t, p)
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	p.awaitAsked(t, "c-", false)
	_ = in.Close()
	ended(t, cmd)
}

func TestTheAgentOfATaskAsksInItsName(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	c := p.serve([]string{"GAFFER_ATTEMPT=a", "GAFFER_RUN=k3v9", "GAFFER_TASK=api"})
	var got answered
	p.answer("k3v9/api", "yes")
	c.call("person_ask", `{"question": "q"}`, &got)
	if got.Answer != "yes" {
		t.Errorf("answered %+v", got)
	}
}

func pipes(t *testing.T, cmd *exec.Cmd) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return in, out
}
