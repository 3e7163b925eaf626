package page

import (
	"context"
	"errors"
	"fmt"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/browser"
)

// MayOpenBrowser reports whether a command may open a browser. It returns false if stdout is not a
// terminal, or if the environment variable CI is set.
func MayOpenBrowser(e *env.Env) bool { return display.IsTerminal(e.Out) && e.Getenv("CI") == "" }

// OpenOrPrint opens a dashboard link in the browser if open is true. If it does not or cannot open
// the browser, it prints how the user can open the dashboard. It reports whether the browser was
// opened.
//
// The first browser that opens the link is logged in. So OpenOrPrint prints the link only to a
// terminal, because other output may be stored. Elsewhere it prints address and command, the gaffer
// command that creates another link.
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
