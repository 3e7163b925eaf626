package protocol_test

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"gaffer/coordinator/conformance"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/server"
	"gaffer/internal/testkit/testenv"
)

// TestTheProtocolsClientsAreServed runs the protocol's own scripted client against this server, on
// the real databases. The script shares no code with gaffer.
func TestTheProtocolsClientsAreServed(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	onEach(t, func(f *fixture) {
		t := f.t
		book := credential.NewTokenStore(f.Tokens(), f.clock, rand.Reader)
		person, _, err := book.Create(t.Context(), credential.TokenSpec{Role: credential.Admin, Name: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		worker, _, err := book.Create(t.Context(), credential.TokenSpec{Role: credential.Worker, Name: "will"})
		if err != nil {
			t.Fatal(err)
		}
		conformance.Run(t, conformance.Target{URL: serve(t, f, book), Token: person, WorkerToken: worker, Advance: f.pass})
	})
}

// serve serves the fixture's service over HTTP until the test ends, and returns its URL.
func serve(t *testing.T, f *fixture, book *credential.TokenStore) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{
		Protocol: f.Service, Tokens: book, Log: server.NewLog(io.Discard, slog.LevelError), Now: f.clock, Random: rand.Reader,
		Hosts: []string{"127.0.0.1", "localhost"}, Rate: -1, UnauthenticatedRate: -1, KeepAlive: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}
