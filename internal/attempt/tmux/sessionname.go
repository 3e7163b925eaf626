package tmux

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SessionName returns the name of the tmux session for a bead. A bead is a piece of work whose name
// outlives any run. The name is agent-<bead> if tmux accepts that name unchanged. Otherwise, for
// example for bd-1.2, the name starts with agent~, and every plus sign and every byte that tmux
// would change is written as +XX in hexadecimal. So no two beads get the same name.
func SessionName(bead string) string {
	if onlyAllowed(bead) {
		return "agent-" + bead
	}
	var b strings.Builder
	b.WriteString("agent~")
	for len(bead) > 0 {
		r, size := utf8.DecodeRuneInString(bead)
		if r != '+' && allowed(r) {
			b.WriteString(bead[:size])
		} else {
			for _, c := range []byte(bead[:size]) {
				fmt.Fprintf(&b, "+%02X", c)
			}
		}
		bead = bead[size:]
	}
	return b.String()
}

// isValidName reports whether tmux accepts the name of a session unchanged. The name must begin
// with a letter, so that tmux cannot confuse it with the id of a session, window or pane, such as
// $1, @1 or %1.
func isValidName(session string) bool {
	return session != "" && ('a' <= session[0] && session[0] <= 'z' || 'A' <= session[0] && session[0] <= 'Z') && onlyAllowed(session)
}

func onlyAllowed(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !allowed(r) }) < 0
}

// allowed reports whether tmux leaves a character in a session's name unchanged. It does not allow
// dots and colons, which separate session, window and pane in a tmux target, nor #, which begins a
// tmux format, nor characters that tmux escapes with a backslash or as octal numbers.
func allowed(r rune) bool {
	if r < utf8.RuneSelf {
		return ' ' <= r && r <= '~' && !strings.ContainsRune(`.:#\$"'`, r)
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
