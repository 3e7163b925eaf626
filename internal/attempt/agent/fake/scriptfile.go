package fake

import (
	"fmt"
	"os"
	"path"
	"strings"
)

// sectionPrefix is the start of the first line of each section of a script file.
const sectionPrefix = "== "

// scriptFor returns the steps for a task from a file of scripts. Each section of the file starts
// with a line that has a pattern for task ids, such as "== A-developer-1" or "== *-qa-*". The first
// section whose pattern matches the task is used. Empty lines and lines that start with # are
// skipped.
func scriptFor(text, task string) ([]string, error) {
	var steps []string
	found, inSection := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, sectionPrefix); ok {
			if found {
				break
			}
			fits, err := path.Match(strings.TrimSpace(name), task)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			found, inSection = fits, fits
			continue
		}
		if inSection && line != "" && line[0] != '#' {
			steps = append(steps, line)
		}
	}
	if !found {
		return nil, fmt.Errorf("there is no script for task %q", task)
	}
	return steps, nil
}

// steps returns the steps to execute. If there is a script file, they are the steps in its section
// for the task that the variable GAFFER_TASK names. Otherwise they are the steps in the prompt.
func (o options) steps(prompt string) ([]string, error) {
	if o.scripts == "" {
		return stepsIn(prompt), nil
	}
	text, err := os.ReadFile(o.scripts)
	if err != nil {
		return nil, err
	}
	return scriptFor(string(text), os.Getenv("GAFFER_TASK"))
}
