// Package delay simulates a slow network between a program and PostgreSQL.
package delay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"time"
)

// Start starts a proxy in front of a PostgreSQL server that listens on a Unix socket. It returns
// the URL of the proxy. The proxy adds latency to the time of every round trip. The proxy is never
// stopped; but once ctx has ended, it closes each new connection at once.
func Start(ctx context.Context, server string, latency time.Duration) (string, error) {
	address, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	query := address.Query()
	socket := filepath.Join(query.Get("host"), ".s.PGSQL.5432")
	query.Del("host")
	query.Set("sslmode", "disable")
	address.Host, address.RawQuery = listener.Addr().String(), query.Encode()
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			backend, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			// Delay only the answers, by the whole latency. Each sleep may take a millisecond too long,
			// and sleeps in both directions would double that error.
			go forward(backend, client, 0)
			go forward(client, backend, latency)
		}
	}()
	return address.String(), nil
}

// forward reads data from one connection and writes it to another. It delivers each piece of data
// after the delay. When reading ends or writing fails, forward closes the connection to which it
// writes.
func forward(to, from net.Conn, delay time.Duration) {
	type piece struct {
		data []byte
		due  time.Time
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if n > 0 {
				pieces <- piece{bytes.Clone(buffer[:n]), time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil && !errors.Is(err, io.EOF) {
			break
		}
	}
	_ = to.Close()
	// Discard the remaining pieces of data. Otherwise the goroutine that sends to this channel
	// could block forever, because the channel would stay full.
	for range pieces {
	}
}
