package tmux

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// UserSessions returns the names of the sessions on the user's own tmux server. It
// does not change the server. It returns none if the server is not running, or if tmux fails or
// takes longer than five seconds.
func UserSessions(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "tmux", "list-sessions", "-F", "#{session_name}").Output()
	if err != nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(string(out)) { // each line is one name, which may contain spaces
		names = append(names, strings.TrimSuffix(line, "\n"))
	}
	return names
}
