package step

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/workflow"
)

// ask asks how to continue if a prerequisite of a workflow step is missing. It prints the choices
// and returns the number of the user's choice. It asks again until the input is the number of a
// choice. At the end of the input it returns workflow.Abort. If the user interrupts the command,
// ask returns an error.
func ask(ctx context.Context, in io.Reader, out io.Writer, missing *workflow.PrerequisiteError) (int, error) {
	fmt.Fprintln(out, missing)
	choice, err := env.Await(ctx, func() int { return read(in, out, missing.Choices()) })
	if err != nil {
		fmt.Fprintln(out)
	}
	return choice, err
}

func read(in io.Reader, out io.Writer, choices []workflow.Choice) int {
	lines := bufio.NewScanner(in)
	for {
		fmt.Fprint(out, "Choose 1, 2 or 3: ")
		if !lines.Scan() {
			fmt.Fprintln(out)
			return workflow.Abort
		}
		for _, c := range choices {
			if strings.TrimSpace(lines.Text()) == fmt.Sprint(c.Number) {
				return c.Number
			}
		}
	}
}
