package source

import (
	"fmt"
	"strings"

	"gaffer/internal/text/truncate"
)

// marker returns an HTML comment, which the page of an issue does not show. gaffer puts it into the
// comment with which it reports the result r to an issue. So a later process can find out whether
// this report already exists.
func (r Result) marker() string {
	return fmt.Sprintf("<!-- gaffer report %s/%s %d -->", r.Run, r.Task, r.Number)
}

// outcomes maps the reason why a task is not complete to a text for users. Only these texts are
// published, because the messages of agents and checks may contain secrets.
var outcomes = map[string]string{
	"verify_failed": "a check of the result has failed", "denied": "the agent was denied a permission that it needs", "budget": "its budget is used up",
	"auth": "the agent is not logged in", "timeout": "it took too long", "stalled": "the agent has shown no activity", "cancelled": "it was cancelled",
	"dependency": "a task that it waits for is not complete",
}

// comment returns the text of the comment with which gaffer reports a result to an issue.
func (r Result) comment() string {
	text := "gaffer has finished its work on this."
	if !r.Complete {
		text = "gaffer has tried to work on this, without success"
		if why := outcomes[r.Outcome]; why != "" {
			text += ": " + why
		}
		text += "."
	}
	if r.PullRequest != "" {
		text += "\n\nPull request: " + truncate.Bytes(strings.TrimSpace(r.PullRequest), maxURL)
	}
	return fmt.Sprintf("%s\n\nRun %s, task %s.\n%s\n", text, r.Run, r.Task, r.marker())
}
