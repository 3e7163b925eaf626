package fake

import (
	"fmt"
	"os"
	"path"
	"strings"
)

// scene begins the part of a task in a file of scripts.
const scene = "== "

// play returns the steps that a file of scripts has for a task. Its parts begin
// with a line such as "== A-developer-1" or "== *-qa-*"; the first that fits is
// played. Lines that are empty or begin with # are left out.
func play(text, task string) ([]string, error) {
	var steps []string
	found, mine := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, scene); ok {
			if found {
				break
			}
			fits, err := path.Match(strings.TrimSpace(name), task)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			found, mine = fits, fits
			continue
		}
		if mine && line != "" && line[0] != '#' {
			steps = append(steps, line)
		}
	}
	if !found {
		return nil, fmt.Errorf("there is no script for task %q", task)
	}
	return steps, nil
}

// steps are what the program does: what a file of scripts has for its task, or
// what the prompt says.
func (o options) steps(prompt string) ([]string, error) {
	if o.scripts == "" {
		return script(prompt), nil
	}
	text, err := os.ReadFile(o.scripts)
	if err != nil {
		return nil, err
	}
	return play(string(text), os.Getenv("GAFFER_TASK"))
}
