package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// tryCommand runs a shell command. Its output ends with it: what it has left in
// the background is ended, and what got out of its group is not waited for.
func tryCommand(ctx context.Context, dir string, c Check) finding {
	cmd := exec.Command("sh", "-c", c.Command)
	cmd.Dir = dir
	out, err := collect(cmd)
	if err != nil {
		return finding{problem: err.Error()}
	}
	g, err := startGroup(cmd)
	if err != nil {
		out.end()
		return finding{problem: fmt.Sprintf("start: %v", err)}
	}
	select {
	case <-g.exited:
	case <-ctx.Done():
	}
	cut := ctx.Err() != nil && running(g)
	g.end(grace)
	return finding{problem: ended(ctx, cmd, cut, c.timeout()), output: out.end()}
}

func running(g *group) bool {
	select {
	case <-g.exited:
		return false
	default:
		return true
	}
}

// ended says what was wrong with a command's end.
func ended(ctx context.Context, cmd *exec.Cmd, cut bool, timeout time.Duration) string {
	switch {
	case cut && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("did not end within %s and was stopped", timeout)
	case cut:
		return "was stopped before it ended"
	case cmd.ProcessState.Success():
		return ""
	}
	return cmd.ProcessState.String()
}

// output is what a program prints: its end, read as it comes.
type output struct {
	from, to *os.File
	kept     tail
	done     chan struct{}
}

// collect gives a program an output that is kept, and no input.
func collect(cmd *exec.Cmd) (*output, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o := &output{from: from, to: to, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = to, to
	go func() {
		defer close(o.done)
		_, _ = io.Copy(&o.kept, from) // it ends with the program, or when we no longer wait
	}()
	return o, nil
}

// lastWords is how long output is waited for after all that should write it has
// ended: somebody who left the group may hold it open for ever.
const lastWords = time.Second

// end stops reading and returns the end of what was read.
func (o *output) end() string {
	_ = o.to.Close()
	_ = o.from.SetReadDeadline(time.Now().Add(lastWords))
	<-o.done
	_ = o.from.Close()
	return o.kept.String()
}
