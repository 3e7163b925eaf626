package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/internal/cli"
	"gaffer/internal/testkit/testenv"
)

// asGaffer is an environment variable that makes this test program run as gaffer.
const asGaffer = "MCP_TEST_AS_GAFFER"

func TestMain(m *testing.M) {
	if os.Getenv(asGaffer) != "" {
		os.Exit(cli.Main())
	}
	os.Exit(m.Run())
}

// project is a project's folder with a separate home directory.
type project struct {
	t    *testing.T
	root string
}

func newProject(t *testing.T) project {
	t.Helper()
	p := project{t, t.TempDir()}
	if err := os.MkdirAll(filepath.Join(p.root, ".home"), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// gaffer returns a command that runs gaffer in the project. It is not started yet.
func (p project) gaffer(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = p.root
	home := filepath.Join(p.root, ".home")
	// GORACE: without it, a program with the race detector waits a second before it exits.
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", asGaffer+"=1", "GAFFER_PROJECT="+p.root, "HOME="+home, "XDG_STATE_HOME="+home+"/state", "GAFFER_SERVER=")
	return cmd
}

// run runs a gaffer command that must succeed.
func (p project) run(args ...string) string {
	p.t.Helper()
	out, err := p.gaffer(args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("gaffer %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// serve starts a server with additional environment variables, and connects a client of the MCP
// library to it.
func (p project) serve(environ []string, args ...string) *client {
	p.t.Helper()
	return p.serveWith(environ, nil, args...)
}

func (p project) serveWith(environ []string, opts *sdk.ClientOptions, args ...string) *client {
	p.t.Helper()
	cmd := p.gaffer(append([]string{"mcp"}, args...)...)
	cmd.Env = append(cmd.Env, environ...)
	cmd.Stderr = os.Stderr
	ctx, cancel := context.WithTimeout(p.t.Context(), testenv.Patience)
	defer cancel()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "Test Client", Version: "1"}, opts).
		Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		p.t.Fatalf("connect: %v", err)
	}
	c := &client{p.t, session, cmd.Process}
	p.t.Cleanup(func() { _ = session.Close() })
	return c
}

type client struct {
	t       *testing.T
	session *sdk.ClientSession
	process *os.Process
}

// try calls a tool.
func (c *client) try(name, args string) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), testenv.Patience)
	defer cancel()
	return c.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
}

// call calls a tool that must succeed, and decodes its result.
func (c *client) call(name, args string, result any) {
	c.t.Helper()
	r, err := c.try(name, args)
	switch {
	case err != nil:
		c.t.Errorf("%s %s: %v", name, args, err)
	case r.IsError:
		c.t.Errorf("%s %s: %s", name, args, textOf(r))
	case result != nil:
		data, err := json.Marshal(r.StructuredContent)
		if err == nil {
			err = json.Unmarshal(data, result)
		}
		if err != nil {
			c.t.Errorf("%s: %v", name, err)
		}
	}
}

// refused calls a tool that must fail, with an error that contains all of these texts.
func (c *client) refused(name, args string, want ...string) {
	c.t.Helper()
	r, err := c.try(name, args)
	if err != nil {
		c.t.Errorf("%s %.200s: a fault of the protocol: %v", name, args, err)
		return
	}
	if !r.IsError {
		c.t.Errorf("%s %.200s: succeeded: %s", name, args, textOf(r))
	}
	for _, part := range want {
		if !strings.Contains(textOf(r), part) {
			c.t.Errorf("%s %.200s: %s\nwant %q in it", name, args, textOf(r), part)
		}
	}
}

func textOf(r *sdk.CallToolResult) string {
	var texts []string
	for _, c := range r.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// names returns the names of the tools.
func (c *client) names() (names []string) {
	c.t.Helper()
	for tool, err := range c.session.Tools(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

// write writes a file in the project.
func (p project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.root, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// document reads a JSON file in the project.
func (p project) document(name string, into any) {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.root, name))
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		p.t.Fatalf("%s: %v", name, err)
	}
}

// ended waits until a started process has ended, and returns its exit code.
func ended(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	select {
	case <-over:
	case <-time.After(testenv.Patience):
		_ = cmd.Process.Kill()
		<-over
		t.Fatal("the server does not end")
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		t.Errorf("the server died of %v", status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

func quoted(format string, args ...any) string {
	data, err := json.Marshal(fmt.Sprintf(format, args...))
	if err != nil {
		panic(err)
	}
	return string(data)
}
