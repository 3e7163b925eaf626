package env

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

// Await calls read in a goroutine and waits until it returns or ctx ends. A read from a terminal
// cannot be cancelled: if ctx ends first, the goroutine remains until the process exits.
func Await[T any](ctx context.Context, read func() T) (T, error) {
	done := make(chan T, 1)
	go func() { done <- read() }()
	select {
	case got := <-done:
		return got, nil
	case <-ctx.Done():
		var nothing T
		return nothing, ctx.Err()
	}
}

// Confirm asks the user a yes-or-no question. The answers y and yes mean yes. Any other answer, or
// the end of the input, means no.
func (e *Env) Confirm(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(e.Err, "%s [y/N] ", question)
	lines := bufio.NewScanner(e.In)
	there, err := Await(ctx, lines.Scan)
	if err != nil || !there {
		e.Talk("")
		return false, err
	}
	answer := strings.ToLower(strings.TrimSpace(lines.Text()))
	return answer == "y" || answer == "yes", nil
}

// ReadIn reads stdin to its end, but at most maxBytes bytes. It ignores the rest without an error.
func (e *Env) ReadIn(ctx context.Context, maxBytes int64) ([]byte, error) {
	var data []byte
	failed, err := Await(ctx, func() (err error) {
		data, err = io.ReadAll(io.LimitReader(e.In, maxBytes))
		return err
	})
	if err != nil {
		return nil, err
	}
	return data, failed
}
