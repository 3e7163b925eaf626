// Package conformance tests whether an HTTP server meets every requirement of the coordinator
// protocol. It sends plain HTTP requests to all routes of the protocol, and checks the JSON objects
// in the answers. It shares no code with gaffer's server or client, so it can test any server.
package conformance

import (
	"crypto/rand"
	"testing"
	"time"
)

// Target is the coordinator under test. Its database need not be empty, because all names that the
// suite creates are unique. The coordinator should have no rate limit, because the suite does not
// repeat a request that was refused for that reason.
type Target struct {
	URL         string // such as http://127.0.0.1:4870
	Token       string // token of a user with all permissions
	WorkerToken string // token of a worker; if empty, Token is used

	// Advance moves the coordinator's clock forward. Between calls of Advance, that clock must
	// stand still. If Advance is nil, the suite waits in real time, which takes about three
	// minutes.
	Advance func(time.Duration)

	// Patience is how long the suite waits for an action that the coordinator must do by itself,
	// such as sending a ping. Zero means 30 s.
	Patience time.Duration
}

// Run runs the suite, with one subtest per requirement.
func Run(t *testing.T, target Target) {
	if target.WorkerToken == "" {
		target.WorkerToken = target.Token
	}
	if target.Patience == 0 {
		target.Patience = 30 * time.Second
	}
	for _, group := range [][]requirement{accessPromises, agentPromises, workPromises, inputPromises, newerPromises, streamPromises, scenarioPromises} {
		for _, p := range group {
			t.Run(p.name, func(t *testing.T) {
				p.check(&script{T: t, Target: target, mark: rand.Text()[:8]})
			})
		}
	}
}

// requirement is one requirement of the protocol, with its test.
type requirement struct {
	name  string
	check func(*script)
}
