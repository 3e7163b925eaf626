package report

import (
	"cmp"
	"strconv"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/ui/report"
	"gaffer/internal/ui/tui/terminal"
)

// screenOf describes stdout as a screen. The width is the width of the terminal or, if that is
// unknown, the value of COLUMNS. It is 0 if both are unknown.
func screenOf(e *env.Env) report.Screen {
	width := terminal.Columns(e.Out)
	if width == 0 {
		width, _ = strconv.Atoi(e.Getenv("COLUMNS")) // a value that is not a number counts as 0
	}
	return report.Screen{Width: width, Color: e.Color(e.Out), ASCII: !drawsUnicode(e.Getenv)}
}

// drawsUnicode reports whether the locale in the environment uses UTF-8. It returns true if no
// locale is set.
func drawsUnicode(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return locale == "" || strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}
