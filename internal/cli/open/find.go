package open

import (
	"context"
	"errors"

	"gaffer/internal/cli/exit"
)

// FindRun returns the id of the run that a person means, the latest if text is
// empty. With unfinished, only runs that have not ended count.
func FindRun(ctx context.Context, f Fleet, text string, unfinished bool) (string, error) {
	id, err := f.FindRun(ctx, text, unfinished)
	if text != "" && text != "-" || exit.Of(err) != exit.CodeNotFound {
		return id, err
	}
	if unfinished {
		return "", exit.WithHint(exit.NotFound(errors.New("every run of this project has ended")), "'gaffer status' shows the latest, 'gaffer run PLAN' begins another")
	}
	return "", exit.WithHint(exit.NotFound(errors.New("this project has no runs")), "'gaffer run PLAN' begins one")
}
