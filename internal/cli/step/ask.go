package step

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"gaffer/workflow"
)

// ask shows the choices and returns the one that was made. The end of the input
// is the choice to abort: nobody is there to answer. An interruption chooses
// nothing; the read that waits for the terminal then ends with the process.
func ask(ctx context.Context, in io.Reader, out io.Writer, missing *workflow.PrerequisiteError) (int, error) {
	fmt.Fprintln(out, missing)
	answers := make(chan int, 1)
	go func() { answers <- read(in, out, missing.Choices()) }()
	select {
	case choice := <-answers:
		return choice, nil
	case <-ctx.Done():
		fmt.Fprintln(out)
		return 0, ctx.Err()
	}
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
