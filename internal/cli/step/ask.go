package step

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"gaffer/workflow"
)

// ask shows the choices and returns the one that was made. The end of the input
// is the choice to abort: nobody is there to answer.
func ask(in io.Reader, out io.Writer, missing *workflow.PrerequisiteError) int {
	fmt.Fprintln(out, missing)
	lines := bufio.NewScanner(in)
	for {
		fmt.Fprint(out, "Choose 1, 2 or 3: ")
		if !lines.Scan() {
			fmt.Fprintln(out)
			return workflow.Abort
		}
		for _, c := range missing.Choices() {
			if strings.TrimSpace(lines.Text()) == fmt.Sprint(c.Number) {
				return c.Number
			}
		}
	}
}
