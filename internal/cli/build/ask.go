package build

import (
	"bufio"
	"fmt"
	"strings"

	"gaffer/internal/cli/env"
)

// choose asks a person for a number up to last. The end of the input is the last
// choice: nobody is there to answer.
func choose(e *env.Env, text string, last int) int {
	if text != "" {
		e.Talk("%s", text)
	}
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
