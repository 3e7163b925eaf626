package page

import (
	"context"
	"errors"
	"fmt"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/browser"
)

// Unasked reports whether a browser may be opened by a command that does something
// else as well: not for a program that reads what the command prints, nor where
// nobody is.
func Unasked(e *env.Env) bool { return display.IsTerminal(e.Out) && e.Getenv("CI") == "" }

// Offer opens a link in the browser, or tells the person how to. That it cannot be
// opened is no failure; it reports whether it was.
//
// A link is only ever told to a terminal: what is told elsewhere may be kept, and
// whoever is first to use a link is in. again is the command that makes another.
func Offer(ctx context.Context, e *env.Env, address, link string, open bool, again string) (opened bool) {
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
	e.Talk("%s", How(address, again))
	return false
}

// How says where the dashboard is, and which command makes a link to it.
func How(address, again string) string {
	return fmt.Sprintf("the dashboard is at %s; '%s' lets a browser in", display.Printable(address), again)
}
