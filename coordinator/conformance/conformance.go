// Package conformance tests that a coordinator keeps everything that the protocol
// promises. It is written from the protocol's table of routes, with plain requests and
// JSON objects. It shares no code with a server or a client, so that it can be run
// against any server.
package conformance

import (
	"crypto/rand"
	"testing"
	"time"
)

// Target is the coordinator under test. It need not be empty, because the suite gives
// everything it creates unique names. It must handle some hundred requests per second.
type Target struct {
	URL         string // such as http://127.0.0.1:4870
	Token       string // of a user who may do everything
	WorkerToken string // of a client that acts for agents; Token if empty

	// Advance moves the coordinator's clock, which otherwise stands still. If it is nil,
	// the suite waits in real time, which takes about three minutes.
	Advance func(time.Duration)

	// Patience is how long the suite waits for something that must happen by itself, such
	// as a ping. Zero means 30 s.
	Patience time.Duration
}

// Run runs the suite, each promise as a subtest.
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

// promise is one requirement of the protocol.
type promise struct {
	name  string
	check func(*script)
}
