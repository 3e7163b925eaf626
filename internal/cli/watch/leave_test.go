package watch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	screen "gaffer/internal/ui/tui/watch"
)

// refusing is a fleet that refuses to cancel a run. It answers only after the user has left the
// screen.
type refusing struct {
	openfleet.Fleet
	shown func()
	left  chan struct{}
	why   error
}

// Write closes r.left when the program restores the terminal's normal screen.
func (r refusing) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("\x1b[?1049l")) {
		close(r.left)
	}
	return len(p), nil
}

func (refusing) Where() string { return "" }

func (r refusing) Changes(ctx context.Context, _ time.Duration, _ func() error) error {
	r.shown()
	<-ctx.Done()
	return ctx.Err()
}

func (r refusing) Cancel(context.Context, string, string, string) error {
	<-r.left
	return r.why
}

func TestLeavingReportsActionsThatFailed(t *testing.T) {
	in, keys := io.Pipe()
	defer in.Close()
	f := refusing{left: make(chan struct{}), why: errors.New("it has ended"), shown: sync.OnceFunc(func() {
		go func() { _, _ = io.WriteString(keys, "cyq") }() // ignore the error: the screen may have stopped reading
	})}
	e := &env.Env{In: in, Out: f, Err: io.Discard, Getenv: func(string) string { return "" }, Now: time.Now}
	first := screen.Fleet{Runs: []fleet.Run{{ID: "r1", Name: "nightly", Status: fleet.Running}}}
	if err := show(context.Background(), e, f, nil, "", first); !errors.Is(err, f.why) {
		t.Errorf("reported %v", err)
	}
}
