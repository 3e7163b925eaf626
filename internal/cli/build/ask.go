package build

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"gaffer/internal/cli/env"
)

// choose asks the user for a number from 1 to last. If the input ends before the user has chosen,
// it returns last. If the user interrupts the command, it returns an error.
func choose(ctx context.Context, e *env.Env, text string, last int) (int, error) {
	if text != "" {
		e.Talk("%s", text)
	}
	choice, err := env.Await(ctx, func() int { return read(e, last) })
	if err != nil {
		e.Talk("")
	}
	return choice, err
}

func read(e *env.Env, last int) int {
	lines := bufio.NewScanner(e.In)
	for {
		fmt.Fprintf(e.Err, "Choose 1 to %d: ", last)
		if !lines.Scan() {
			fmt.Fprintln(e.Err)
			return last
		}
		for n := 1; n <= last; n++ {
			if strings.TrimSpace(lines.Text()) == fmt.Sprint(n) {
				return n
			}
		}
	}
}
