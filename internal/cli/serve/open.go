package serve

import (
	"context"
	"errors"

	"gaffer/internal/cli/env"
	"gaffer/internal/server"
	"gaffer/internal/token"
)

// Backend is what the command puts behind HTTP.
type Backend struct {
	Desk   server.Desk  // what requests mean
	Tokens token.Rows   // where tokens are kept, beside what the desk keeps
	State  string       // the folder of this machine's own files
	Close  func() error // gives everything back; called once, after the last request
}

// Opener opens the database that the settings name.
type Opener func(ctx context.Context) (Backend, error)

// Open returns what opens the desk and the tokens of the command's database.
// This is the one place that is to be connected with gaffer/internal/app.
func Open(*env.Env) Opener {
	return func(context.Context) (Backend, error) {
		return Backend{}, errors.New("no desk is connected to this build")
	}
}
