package browser

import (
	"github.com/chromedp/chromedp/kb"

	"gaffer/internal/testkit/dashboard"
)

// page is a tab of a separate browser profile that is logged in.
type page struct {
	*world
	*dashboard.Page
}

// open logs a new browser profile in and shows the page with this hash. If a script of the page
// fails, the test fails at its end.
func (w *world) open(hash string) *page {
	w.Helper()
	p := w.tabAt(w.loginURL())
	p.Visit(hash)
	return p
}

// tabAt opens an address in a new browser profile.
func (w *world) tabAt(url string) *page {
	w.Helper()
	return &page{w, browser.Open(w, url)}
}

// another opens one more tab in the same browser profile.
func (p *page) another(hash string) *page {
	p.Helper()
	return &page{p.world, p.Another(p.url + "/" + hash)}
}

// eval returns the value of a script in the page.
func eval[V any](p *page, script string) V {
	p.Helper()
	return dashboard.Eval[V](p.Page, script)
}

func quoted(text string) string { return dashboard.Quoted(text) }

const (
	tab   = kb.Tab
	enter = kb.Enter
)
