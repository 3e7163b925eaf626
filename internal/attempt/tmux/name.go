package tmux

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SessionName is the name of a bead's session: agent-<bead> wherever tmux can
// have that name. In other names, such as that of bd-1.2, what tmux would change
// is written as +XX with the number of the byte, and the name begins with agent~
// so that it is no other bead's.
func SessionName(bead string) string {
	if isName(bead) {
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

// keepsItsName tells whether a session can have a name. The first letter could
// otherwise make it the number of a session, a window or a pane.
func keepsItsName(session string) bool {
	return session != "" && ('a' <= session[0] && session[0] <= 'z' || 'A' <= session[0] && session[0] <= 'Z') && isName(session)
}

func isName(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !allowed(r) }) < 0
}

// allowed are the characters that tmux leaves as they are in a name. Points and
// colons divide the parts of a target, # begins a format, and some others are
// written with a backslash or as numbers.
func allowed(r rune) bool {
	if r < utf8.RuneSelf {
		return ' ' <= r && r <= '~' && !strings.ContainsRune(`.:#\$"'`, r)
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
