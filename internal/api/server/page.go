package server

import "net/http"

// Page serves the dashboard: "/" and the paths below "/assets/".
type Page interface {
	http.Handler
	// Has reports whether a path below "/assets/" exists.
	Has(path string) bool
}

// page serves the dashboard. It needs no token: the files contain no data, and fetch all
// data with the credentials of the user.
func (c *call) page() error {
	if c.opts.Page == nil || c.r.URL.Path != "/" && !c.opts.Page.Has(c.r.PathValue("path")) {
		return c.nowhere()
	}
	c.opts.Page.ServeHTTP(c.w, c.r)
	return nil
}
