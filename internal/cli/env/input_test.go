package env

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestAYesIsAYesAndTheEndOfTheInputIsNone(t *testing.T) {
	for input, want := range map[string]bool{"y\n": true, " YES \n": true, "no\n": false, "\n": false, "": false} {
		e := newEnv(t, nil)
		e.In = strings.NewReader(input)
		if got, err := e.Confirm(t.Context(), "Sure?"); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", input, got, err, want)
		}
	}
}

func TestAnInterruptedReadGivesNothing(t *testing.T) {
	in, silent := io.Pipe()
	defer silent.Close()
	e := newEnv(t, nil)
	e.In = in
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if yes, err := e.Confirm(ctx, "Sure?"); yes || !errors.Is(err, context.Canceled) {
		t.Errorf("agreed: %v, %v", yes, err)
	}
	if data, err := e.ReadIn(ctx, 10); data != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("read: %q, %v", data, err)
	}
}

func TestReadInReadsAtMostTheLimit(t *testing.T) {
	e := newEnv(t, nil)
	e.In = strings.NewReader("abcdef")
	if data, err := e.ReadIn(t.Context(), 4); string(data) != "abcd" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}
