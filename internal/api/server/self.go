package server

import (
	"net/http"

	"gaffer/coordinator"
)

type oneSelf struct {
	Self coordinator.Self `json:"self"`
}

// self returns the version of the server, and the name and the role of the client's
// token.
func (c *call) self() error {
	answer(c.w, http.StatusOK, oneSelf{coordinator.Self{
		Version: c.opts.Version, Time: c.opts.Now().UTC(), Name: c.by.Name, Role: string(c.by.Role),
	}})
	return nil
}
