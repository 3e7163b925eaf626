package report

import (
	"cmp"
	"strconv"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/ui/report"
	"gaffer/internal/ui/tui/terminal"
)

// screenOf describes the terminal that stdout is written to. Its width is the
// terminal's, otherwise the value of COLUMNS, otherwise 0.
func screenOf(e *env.Env) report.Screen {
	width := terminal.Columns(e.Out)
	if width == 0 {
		width, _ = strconv.Atoi(e.Getenv("COLUMNS")) // ignore a value that is not a number
	}
	return report.Screen{Width: width, Color: e.Color(e.Out), ASCII: !drawsUnicode(e.Getenv)}
}

// drawsUnicode reports whether the locale uses UTF-8. It returns true if no locale is
// set.
func drawsUnicode(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return locale == "" || strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}
