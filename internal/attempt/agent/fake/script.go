package fake

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gaffer/internal/text/suggest"
)

// stepPrefix is the prefix of each line of a prompt that is a step.
const stepPrefix = "fake:"

// stepsIn returns the steps in a prompt: its lines that begin with stepPrefix, without that prefix.
func stepsIn(prompt string) []string {
	var steps []string
	for line := range strings.Lines(prompt) {
		if step, ok := strings.CutPrefix(strings.TrimSpace(line), stepPrefix); ok {
			steps = append(steps, strings.TrimSpace(step))
		}
	}
	return steps
}

// actor executes the steps of the fake agent.
type actor struct {
	*stdio
	protocol protocol
	attempt  int
	result   string
	usage    usage
	hangs    bool // do not exit after the final message
}

// errFinished is returned by a step that ends the script with success.
var errFinished = errors.New("the script is finished")

func (a *actor) do(line string) error {
	name, args, _ := strings.Cut(line, " ")
	var names []string
	for _, s := range steps() {
		if s.name == name {
			if err := s.do(a, strings.TrimSpace(args)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}
		names = append(names, s.name)
	}
	if near := suggest.Nearest(name, names); near != "" {
		return fmt.Errorf("action %q is not known, did you mean %s?", name, near)
	}
	return fmt.Errorf("action %q is not known, want one of %s", name, strings.Join(names, ", "))
}

// splitWord returns the first word of args, and the text after it. Empty args are an error.
func splitWord(args string) (word, rest string, err error) {
	word, rest, _ = strings.Cut(args, " ")
	if word == "" {
		return "", "", errors.New("there is something missing")
	}
	return word, strings.TrimSpace(rest), nil
}

// parseDuration parses a duration. A plain number means seconds.
func parseDuration(text string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < 1e9 {
		return time.Duration(n * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("found %q, want a duration such as 2s", text)
	}
	return d, nil
}

// parseSize parses a number of bytes, such as 50MB.
func parseSize(text string) (int, error) {
	unit := 1
	for suffix, n := range map[string]int{"KB": 1e3, "MB": 1e6, "GB": 1e9} {
		if number, ok := strings.CutSuffix(strings.ToUpper(text), suffix); ok {
			text, unit = number, n
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 100e9/unit {
		return 0, fmt.Errorf("found %q, want a number of bytes such as 50MB", text)
	}
	return n * unit, nil
}
