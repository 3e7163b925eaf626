package server

import (
	"net/http"

	"gaffer/coordinator"
)

type oneSelf struct {
	Self coordinator.Self `json:"self"`
}

// self says which program answers, and what the token of whoever asks is good for.
func (c *call) self() error {
	answer(c.w, http.StatusOK, oneSelf{coordinator.Self{
		Version: c.opts.Version, Time: c.opts.Now().UTC(), Name: c.by.Name, Role: string(c.by.Role),
	}})
	return nil
}
