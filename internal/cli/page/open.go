package page

import (
	"context"
	"errors"
	"fmt"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/browser"
)

// MayOpenBrowser reports whether a command may open a browser in its environment. It returns false
// in CI, and if stdout is not a terminal.
func MayOpenBrowser(e *env.Env) bool { return display.IsTerminal(e.Out) && e.Getenv("CI") == "" }

// OpenOrPrint opens a link in the browser, or prints how to open it. It reports whether the browser
// was opened; a failure to open it is not an error.
//
// The link is printed only to a terminal: other output may be stored, and the first browser that
// uses the link is logged in. command is the gaffer command that creates another link.
func OpenOrPrint(ctx context.Context, e *env.Env, address, link string, open bool, command string) (opened bool) {
	if open {
		err := browser.Open(ctx, e.Getenv, link)
		if err == nil {
			e.Talk("the dashboard is open in the browser, at %s", display.Printable(address))
			return true
		}
		if !errors.Is(err, browser.ErrNone) {
			e.Talk("gaffer: the browser was not opened: %s", display.Printable(err.Error()))
		}
	}
	if display.IsTerminal(e.Err) {
		e.Talk("the dashboard, for one browser, within a minute: %s", display.Printable(link))
		return false
	}
	e.Talk("%s", HowToOpen(address, command))
	return false
}

// HowToOpen returns a text with the dashboard's address and the gaffer command that creates a link
// to it.
func HowToOpen(address, command string) string {
	return fmt.Sprintf("the dashboard is at %s; '%s' lets a browser in", display.Printable(address), command)
}
