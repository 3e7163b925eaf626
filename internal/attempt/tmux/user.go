package tmux

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// UserSessions are the names of the sessions on the user's own server, which is
// asked and never changed. There are none if it does not run.
func UserSessions(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "tmux", "list-sessions", "-F", "#{session_name}").Output()
	if err != nil {
		return nil
	}
	return strings.Fields(string(out))
}
