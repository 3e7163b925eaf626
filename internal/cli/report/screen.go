package report

import (
	"cmp"
	"strconv"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/ui/report"
	"gaffer/internal/ui/tui"
)

// screen is what the result is written to.
func screen(e *env.Env) report.Screen {
	return report.Screen{Width: width(e), Color: e.Color(e.Out), ASCII: !drawsUnicode(e.Getenv)}
}

// width is that of the terminal, else what COLUMNS says, else 0.
func width(e *env.Env) int {
	if columns := tui.Columns(e.Out); columns > 0 {
		return columns
	}
	columns, _ := strconv.Atoi(e.Getenv("COLUMNS")) // what is no number says nothing
	return columns
}

// drawsUnicode is false where the locale names another set of characters. A
// locale that is not set names none.
func drawsUnicode(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return locale == "" || strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}
