package env

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

// Await waits for what read gives, or for an interruption. A read that waits for a
// person cannot be ended: it then ends with the process.
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

// Agreed asks a person for a yes. The end of the input is a no.
func (e *Env) Agreed(ctx context.Context, question string) (bool, error) {
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

// ReadIn reads all of stdin, but not more than most bytes.
func (e *Env) ReadIn(ctx context.Context, most int64) ([]byte, error) {
	var data []byte
	failed, err := Await(ctx, func() (err error) {
		data, err = io.ReadAll(io.LimitReader(e.In, most))
		return err
	})
	if err != nil {
		return nil, err
	}
	return data, failed
}
