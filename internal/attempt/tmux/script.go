package tmux

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// settings has tmux commands that make every server behave the same, whichever gaffer process
// starts it. Because of the flag -q, tmux ignores options that its version does not have.
//
// Only a few keys are bound: for scrolling, copying and detaching, and C-b C-b to send C-b to the
// program. With tmux's other keys, users could accidentally end the program, rename its session or
// open another session. No key that opens a prompt of tmux is bound, because a user can run any
// command there. A user who types into the session from a web browser may be allowed to answer the
// agent, but not to run commands on this machine.
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
set-option -qg status-style default
set-option -qg status-left " #S "
set-option -qg status-left-length 120
set-option -qg status-right " detach: Ctrl-b d   scroll: Ctrl-b [ "
set-option -qg status-right-length 60
set-option -qg window-status-format ""
set-option -qg window-status-current-format ""
set-option -qgw remain-on-exit off
set-option -qgw allow-rename off
set-option -qgw automatic-rename off
set-option -qgw allow-passthrough off
set-option -qgw mode-keys emacs
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
unbind-key -aq -T copy-mode-vi
unbind-key -aq -T copy-mode
bind-key -T copy-mode q send-keys -X cancel
bind-key -T copy-mode Escape send-keys -X cancel
bind-key -T copy-mode C-c send-keys -X cancel
bind-key -T copy-mode Up send-keys -X scroll-up
bind-key -T copy-mode Down send-keys -X scroll-down
bind-key -T copy-mode PPage send-keys -X page-up
bind-key -T copy-mode NPage send-keys -X page-down
bind-key -T copy-mode Home send-keys -X history-top
bind-key -T copy-mode End send-keys -X history-bottom
bind-key -T copy-mode WheelUpPane send-keys -X -N 5 scroll-up
bind-key -T copy-mode WheelDownPane send-keys -X -N 5 scroll-down
bind-key -T copy-mode MouseDrag1Pane send-keys -X begin-selection
bind-key -T copy-mode MouseDragEnd1Pane send-keys -X copy-selection-and-cancel
`

// Initial size of a session's terminal, in characters. It applies until a client attaches to the
// session.
const columns, rows = 200, 50

// script returns the tmux commands that configure the server and create a session.
func script(session string, argv, env []string, dir string) string {
	var b strings.Builder
	b.WriteString(settings)
	for _, name := range localeNames() {
		fmt.Fprintf(&b, "set-environment -gu %s\n", name)
	}
	fmt.Fprintf(&b, "set-option -g default-shell %s\n", quote(shell(env)))
	fmt.Fprintf(&b, "new-session -d -s %s -n agent -x %d -y %d -c %s", quote(escapeFormats(session)), columns, rows, quote(escapeFormats(dir)))
	for _, entry := range env {
		b.WriteString(" -e " + quote(entry))
	}
	b.WriteString(" --")
	for _, arg := range withoutShell(argv) {
		b.WriteString(" " + quote(arg))
	}
	b.WriteString("\n")
	return b.String()
}

// withoutShell returns argv in a form that no shell parses. tmux executes a list of several
// arguments directly, but passes a list of one argument to a shell. So withoutShell turns an argv
// with one element into a longer command that runs the same program.
func withoutShell(argv []string) []string {
	if len(argv) > 1 {
		return argv
	}
	return []string{plainShell, "-c", `exec "$0"`, argv[0]}
}

const plainShell = "/bin/sh"

// shell returns the program to use as tmux's default shell. That is the value of the variable SHELL
// in env if it is the absolute path of an executable program, and otherwise plainShell. tmux also
// sets the variable SHELL of its programs to this program.
func shell(env []string) string {
	path, _ := lookup(env, "SHELL")
	if _, err := exec.LookPath(path); err != nil || !filepath.IsAbs(path) {
		return plainShell
	}
	return path
}

// escapeFormats escapes each # in a text. Otherwise tmux would replace formats in the text, such as
// #{pid}, by their values.
func escapeFormats(text string) string { return strings.ReplaceAll(text, "#", "##") }

// quote quotes text so that tmux reads exactly its bytes. Even inside quotes, tmux removes spaces
// after a newline. So quote writes every byte for which isPlain is false as an octal escape.
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
