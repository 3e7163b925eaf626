package watch

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"gaffer/internal/ui/tui/program"
)

// slow is a backend that cancels a run only after the user has left.
type slow struct {
	Backend
	left   chan struct{}
	cancel func(context.Context) error
}

func (slow) Focus(Focus) {}

func (s slow) Cancel(ctx context.Context, _, _ string) error {
	<-s.left
	return s.cancel(ctx)
}

// leave cancels a run, leaves the screen at once, and returns the error of Finish. patience is how
// long Finish may wait.
func leave(t *testing.T, patience time.Duration, cancel func(context.Context) error) error {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	in, keys := io.Pipe()
	defer in.Close()
	w := slow{left: make(chan struct{}), cancel: cancel}
	p := NewProgram(ctx, screenOf(80, 24), program.Terminal{In: in, Out: io.Discard, Now: func() time.Time { return now }}, w)
	go func() { _, _ = io.WriteString(keys, "\tcyq") }() // ignore the error: the program may have stopped reading
	if err := p.Show(); err != nil {
		t.Fatal(err)
	}
	close(w.left)
	waiting, stop := context.WithTimeout(ctx, patience)
	defer stop()
	return p.Finish(waiting)
}

func TestAPendingActionIsFinishedAfterTheUserLeaves(t *testing.T) {
	t.Parallel()
	done := 0
	err := leave(t, time.Minute, func(ctx context.Context) error { done++; return ctx.Err() })
	if err != nil || done != 1 {
		t.Errorf("done %d times, %v", done, err)
	}
	away := errors.New("the server is away")
	err = leave(t, time.Minute, func(context.Context) error { return away })
	if !errors.Is(err, away) || !strings.HasPrefix(err.Error(), "cancel run release 1.4: ") {
		t.Errorf("what failed: %v", err)
	}
	err = leave(t, time.Millisecond, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	if err == nil || !strings.HasPrefix(err.Error(), "cancel run release 1.4: there was no answer yet") {
		t.Errorf("what takes too long: %v", err)
	}
}
