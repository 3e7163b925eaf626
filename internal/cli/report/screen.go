package report

import (
	"cmp"
	"strconv"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/ui/report"
	"gaffer/internal/ui/tui/terminal"
)

// screen describes the terminal that stdout is written to.
func screen(e *env.Env) report.Screen {
	return report.Screen{Width: width(e), Color: e.Color(e.Out), ASCII: !drawsUnicode(e.Getenv)}
}

// width returns the width of the terminal, otherwise the value of COLUMNS, otherwise 0.
func width(e *env.Env) int {
	if columns := terminal.Columns(e.Out); columns > 0 {
		return columns
	}
	columns, _ := strconv.Atoi(e.Getenv("COLUMNS")) // ignore a value that is not a number
	return columns
}

// drawsUnicode reports whether the locale uses UTF-8. It returns true if no locale is
// set.
func drawsUnicode(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return locale == "" || strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}
