package tmux

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// settings make every server the same, whoever begins it. What a version of tmux
// does not know it passes over (-q).
//
// The keys that a person has are those to look around and to leave. The others
// could end the program, rename its session or open another by a slip.
const settings = `
set-option -qs exit-empty on
set-option -qs exit-unattached off
set-option -qs set-clipboard off
set-option -qg update-environment ""
set-option -qg destroy-unattached off
set-option -qg detach-on-destroy on
set-option -qg history-limit 50000
set-option -qg lock-after-time 0
set-option -qg mouse on
set-option -qg prefix C-b
set-option -qg assume-paste-time 0
set-option -qg default-command ""
set-option -qg set-titles off
set-option -qg status on
set-option -qg status-left " #S "
set-option -qg status-left-length 120
set-option -qg status-right " detach: Ctrl-b d   scroll: Ctrl-b [ "
set-option -qg status-right-length 60
set-option -qg window-status-format ""
set-option -qg window-status-current-format ""
set-option -qgw remain-on-exit off
set-option -qgw allow-rename off
set-option -qgw automatic-rename off
unbind-key -a -T prefix
bind-key -T prefix d detach-client
bind-key -T prefix C-b send-prefix
bind-key -T prefix [ copy-mode
bind-key -T prefix PPage copy-mode -u
unbind-key -a -T root
bind-key -T root MouseDown1Pane send-keys -M
bind-key -T root MouseDrag1Pane if-shell -F "#{||:#{pane_in_mode},#{mouse_any_flag}}" "send-keys -M" "copy-mode -M"
bind-key -T root WheelUpPane if-shell -F "#{||:#{pane_in_mode},#{mouse_any_flag}}" "send-keys -M" "copy-mode -e"
bind-key -T root WheelDownPane send-keys -M
`

// The size of a terminal that nobody is attached to.
const columns, rows = 200, 50

// script is what the server is told to start a session.
func script(session string, argv, env []string, dir string) string {
	var b strings.Builder
	b.WriteString(settings)
	for _, name := range localeNames() {
		fmt.Fprintf(&b, "set-environment -gu %s\n", name)
	}
	fmt.Fprintf(&b, "set-option -g default-shell %s\n", quote(shell(env)))
	fmt.Fprintf(&b, "new-session -d -s %s -n agent -x %d -y %d -c %s", quote(plain(session)), columns, rows, quote(plain(dir)))
	for _, entry := range env {
		b.WriteString(" -e " + quote(entry))
	}
	b.WriteString(" --")
	for _, arg := range direct(argv) {
		b.WriteString(" " + quote(arg))
	}
	b.WriteString("\n")
	return b.String()
}

// direct is argv as a list that tmux executes itself. A list of one is a command
// line to it, for a shell to read; so a shell is given a line that reads nothing.
func direct(argv []string) []string {
	if len(argv) > 1 {
		return argv
	}
	return []string{plainShell, "-c", `exec "$0"`, argv[0]}
}

const plainShell = "/bin/sh"

// shell is what SHELL is to be: tmux sets it to the server's shell, which must
// be one that can be executed.
func shell(env []string) string {
	path, _ := lookup(env, "SHELL")
	if _, err := exec.LookPath(path); err != nil || !filepath.IsAbs(path) {
		return plainShell
	}
	return path
}

// plain keeps tmux from seeing a format, such as #{pid}, in a text.
func plain(text string) string { return strings.ReplaceAll(text, "#", "##") }

// quote writes text so that tmux reads exactly its bytes. Inside quotes it would
// still take spaces away after a newline, so all that is not plain is a number.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		if isPlain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("/-_=,", c) >= 0
}
