package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Command sends notifications by running a program. The program gets the notification as JSON on
// standard input, and its main fields as environment variables.
type Command struct{ Argv []string }

// Name implements [Channel].
func (c *Command) Name() string { return "command" }

// Key implements [Channel].
func (c *Command) Key() string { return keyOf(c.Name(), c.Argv...) }

// Where implements [Channel].
func (c *Command) Where() string { return line(strings.Join(c.Argv, " "), maxTitle) }

// Send implements [Channel]. All errors are final: a program that failed is not started again,
// because it may already have done its work.
func (c *Command) Send(ctx context.Context, n Notification) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return run(ctx, c.Argv, append(body, '\n'), environOf(n))
}

// environOf returns the main fields of a notification as environment variables.
func environOf(n Notification) []string {
	var env []string
	for _, f := range [][2]string{
		{"ID", n.ID},
		{"KIND", string(n.Kind)},
		{"TITLE", n.Title},
		{"TEXT", n.Text},
		{"NEXT", n.Next},
		{"RUN", n.Run},
		{"TASK", n.Task},
		{"WORKER", n.Worker},
		{"QUESTION", n.Question},
		{"STATUS", n.Status},
		{"TIME", n.Time.UTC().Format(time.RFC3339)},
	} {
		env = append(env, "GAFFER_NOTE_"+f[0]+"="+strings.ReplaceAll(f[1], "\x00", ""))
	}
	return env
}

// outputWithin is how long to wait for further output of a program that has ended. Its child
// processes may still have the output pipe open.
const outputWithin = time.Second

// run runs a program until it ends or ctx ends. If the program fails, the error contains its
// output.
func run(ctx context.Context, argv []string, stdin []byte, env []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	said := &headWriter{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(string(stdin)), said, said
	cmd.Env = append(os.Environ(), env...)
	// Start the program in its own process group. Then gaffer can kill it together with its
	// children, and Ctrl-C in gaffer's terminal does not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputWithin
	err := cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("did not end within %s and was killed", sendWithin)
	}
	if text := line(said.String(), maxText/2); text != "" {
		return fmt.Errorf("%s: %w: %s", argv[0], err, text)
	}
	return fmt.Errorf("%s: %w", argv[0], err)
}

// headWriter is a writer that keeps the first maxOutput bytes and discards all others.
type headWriter struct{ text strings.Builder }

const maxOutput = 8 << 10

func (h *headWriter) Write(p []byte) (int, error) {
	h.text.Write(p[:min(len(p), max(maxOutput-h.text.Len(), 0))])
	return len(p), nil
}

func (h *headWriter) String() string { return h.text.String() }
