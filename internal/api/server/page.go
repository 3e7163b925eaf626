package server

import "net/http"

// Page is what a browser shows: an answer to "/" and to paths below "/assets/".
type Page interface {
	http.Handler
	// Has reports whether there is something at a path below "/assets/".
	Has(path string) bool
}

// page hands the dashboard out. Anybody may have it: it holds nothing, and asks
// for everything with the credentials of whoever looks.
func (c *call) page() error {
	if c.opts.Page == nil || c.r.URL.Path != "/" && !c.opts.Page.Has(c.r.PathValue("path")) {
		return c.nowhere()
	}
	c.opts.Page.ServeHTTP(c.w, c.r)
	return nil
}
