package team

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/statefile"
	"gaffer/statefile/host"
)

type initOptions struct {
	file  string
	fresh bool
}

func initCommand(e *env.Env) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:                   "init [REQUIREMENTS] [-f FILE] [--new]",
		DisableFlagsInUseLine: true,
		Short:                 "Begin a session without running it, and print its id",
		Example: `  gaffer team init "Implement JWT authentication and password reset"
  gaffer team init -f requirements.md
  gaffer team init --new "Start over"`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringVarP(&o.file, "file", "f", "", "read the requirements from `FILE`, or - for stdin")
	cmd.Flags().BoolVar(&o.fresh, "new", false, "archive the existing session")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		requirements, err := readRequirements(cmd.Context(), e, o.file, args)
		if err != nil {
			return err
		}
		return begin(cmd.Context(), e, o, requirements)
	}
	return cmd
}

func begin(ctx context.Context, e *env.Env, o initOptions, requirements string) error {
	s, err := Open(e)
	if err != nil {
		return err
	}
	if !o.fresh {
		id, err := s.Init(ctx, requirements)
		if err != nil {
			return withTeamHint(err)
		}
		return e.Printf("%s\n", id)
	}
	if err := endRun(ctx, e); err != nil {
		return err
	}
	id, archive, err := s.InitNew(ctx, requirements)
	if err != nil {
		return err
	}
	if archive != "" {
		e.Talk("the session before is in %s", archive)
	}
	return e.Printf("%s\n", id)
}

// readRequirements returns the requirements from the arguments or from a file. It returns an error
// if they are empty. Call it before archiving the existing session, so that an error leaves that
// session in place.
func readRequirements(ctx context.Context, e *env.Env, file string, args []string) (string, error) {
	if (file == "") == (len(args) == 0) {
		return "", exit.Usage(errors.New("give the requirements as an argument or with -f FILE, one of them"))
	}
	text := strings.Join(args, " ")
	if file != "" {
		data, err := readAll(ctx, e, file)
		if err != nil {
			return "", err
		}
		text = string(data)
	}
	if strings.TrimSpace(text) == "" {
		return "", exit.WithHint(exit.Usage(errors.New("the requirements are empty")), "say what is to be done, in a sentence or as a list")
	}
	return text, nil
}

// readAll reads a file, or stdin if file is "-".
func readAll(ctx context.Context, e *env.Env, file string) ([]byte, error) {
	if file != "-" {
		return statefile.ReadBytes(host.OS(), e.Path(file))
	}
	data, err := e.ReadIn(ctx, statefile.MaxSize+1)
	if err == nil && len(data) > statefile.MaxSize {
		err = fmt.Errorf("stdin: more than the %d MiB a document may have", statefile.MaxSize>>20)
	}
	return data, err
}
