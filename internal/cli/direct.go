package cli

import (
	"context"
	"os"

	"gaffer/internal/app/demo"
	"gaffer/internal/attempt/agent/fake"
	"gaffer/internal/attempt/pane"
	"gaffer/internal/attempt/sandbox"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/attempt/verify"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/hook"
	"gaffer/internal/cli/statusline"
	"gaffer/internal/flow/teammerge"
	"gaffer/internal/flow/teamrun"
)

// runDirectly runs the command in args if it is one that gaffer itself or an agent program, such as
// Claude Code, starts: for example a hook. To save time, it does not build cobra's command tree.
// For all other commands it does nothing and returns ok = false.
func runDirectly(args []string) (code int, ok bool) {
	switch {
	case len(args) == 2 && args[0] == "supervise":
		return supervisor.Main(args[1:]), true
	case len(args) > 0 && args[0] == sandbox.EnterCommand:
		return sandbox.EnterMain(args[1:], os.Stderr), true
	case len(args) > 0 && args[0] == sandbox.InitCommand:
		return sandbox.InitMain(args[1:], os.Stderr), true
	case len(args) > 0 && args[0] == pane.Command:
		return pane.Main(args[1:], os.Stdin, os.Stdout), true
	case len(args) == 2 && args[0] == "verify":
		return verify.Main(args[1:], os.Stdout, os.Stderr), true
	case len(args) == 1 && args[0] == workspace.MergeCommand:
		return workspace.MergeMain(context.Background(), os.Stdin, os.Stdout, os.Stderr), true
	case len(args) == 2 && args[0] == workspace.PickCommand:
		return workspace.PickMain(context.Background(), args[1], os.Stdin, os.Stdout, os.Stderr), true
	case len(args) == 1 && args[0] == teamrun.MergeCommand:
		return teammerge.Main(context.Background(), os.Stdin, os.Stdout, os.Stderr), true
	case len(args) > 0 && args[0] == "fake-agent":
		return fake.Main(args[1:], os.Stdin, os.Stdout, os.Stderr), true
	case len(args) > 0 && args[0] == demo.CleanerCommand:
		return demo.CleanerMain(args[1:], os.Stdin, os.Stderr), true
	case len(args) > 0 && args[0] == "statusline":
		return statusline.Main(env.System(release), args[1:])
	case len(args) > 0 && args[0] == "hook":
		return hook.Main(env.System(release), args[1:])
	}
	return 0, false
}
