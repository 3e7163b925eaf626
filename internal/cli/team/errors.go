package team

import (
	"errors"

	"gaffer/internal/exit"
	"gaffer/internal/git"
	"gaffer/team"
)

// withTeamHint replaces the hint of some errors by a hint for users of 'gaffer team'. It returns
// any other error unchanged.
func withTeamHint(err error) error {
	if _, ok := errors.AsType[*team.SessionExistsError](err); ok {
		return exit.WithHint(err, "'gaffer team status' says where it stands, 'gaffer team resume' goes on with it, --new archives it and begins another")
	}
	if _, ok := errors.AsType[*team.NoSessionError](err); ok {
		return exit.WithHint(err, "'gaffer team REQUIREMENTS' begins one and runs it, 'gaffer team init' only begins it")
	}
	if e, ok := errors.AsType[*git.OpenError](err); ok && e.Problem == git.NotRepository {
		return exit.WithHint(err, "a team works on branches: go to a repository, or make one with 'git init' and a first commit")
	}
	return err
}
