// Package conformance asks a coordinator everything that the protocol promises.
// It is written from the protocol's table of routes, with plain requests and JSON
// objects: it shares no code with a server or a client, so that it can be run
// against any.
package conformance

import (
	"crypto/rand"
	"testing"
	"time"
)

// Target is the coordinator to be asked. What the suite makes there has names of
// its own, so it need not be empty. It has to bear some hundred requests a second.
type Target struct {
	URL         string // such as http://127.0.0.1:4870
	Token       string // of a person who may do everything
	WorkerToken string // of whoever speaks for agents; Token if empty

	// Advance moves the coordinator's clock, which otherwise stands still. Without
	// it the suite waits for real, which takes about three minutes.
	Advance func(time.Duration)

	// Patience is how long the suite waits for what must come by itself, such as a
	// ping: 30 s if zero.
	Patience time.Duration
}

// Run runs the suite, each promise as a test of its own.
func Run(t *testing.T, target Target) {
	if target.WorkerToken == "" {
		target.WorkerToken = target.Token
	}
	if target.Patience == 0 {
		target.Patience = 30 * time.Second
	}
	for _, group := range [][]promise{doors, agents, work, talk, newer, live, scenarios} {
		for _, p := range group {
			t.Run(p.name, func(t *testing.T) {
				p.check(&script{T: t, Target: target, mark: rand.Text()[:8]})
			})
		}
	}
}

// promise is one thing that the protocol says.
type promise struct {
	name  string
	check func(*script)
}
