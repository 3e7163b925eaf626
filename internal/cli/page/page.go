// Package page serves and opens the dashboard for a command.
package page

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/server"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/connect/localservers"
)

// Page is a dashboard that this process serves on this machine until [Page.Close] is called.
//
// If the page comes from the function [Open], its access tokens are in memory and not in the
// database. While a page is served, a file in gaffer's state folder holds the page's address and
// one of its tokens. From this file, 'gaffer open' of the same user learns how to open the page and
// log in.
type Page struct {
	URL string // the address of the server

	server  *server.Server
	close   func() error // closes the backend
	forget  func() error // deletes the file that the function publish has written
	stop    context.CancelFunc
	stopped chan error
}

// closeTimeout is how long Page.Close waits for unfinished requests.
const closeTimeout = time.Second

// Open serves the dashboard for the fleet of the app a, on a free port of the loopback address. If
// the caller closes the page at the end of a run, the parameter run is that run's id; otherwise it
// is "". Open passes errors of the server to the function notice.
func Open(ctx context.Context, e *env.Env, a *app.App, run string, notice func(text string)) (_ *Page, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	c, err := a.ServeRun()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	b := BackendOf(c)
	b.Tokens = &credential.MemoryStorage{}
	p, err := Serve(ctx, e, b, l, run, notice)
	if err != nil {
		return nil, errors.Join(err, l.Close(), b.Close())
	}
	return p, nil
}

// Serve serves the dashboard of the backend b on the listener l, in the background. If the caller
// closes the page at the end of a run, the parameter run is that run's id; otherwise it is "".
// [Page.Close] closes b and l. If Serve returns an error, b and l are still open.
func Serve(ctx context.Context, e *env.Env, b Backend, l net.Listener, run string, notice func(string)) (*Page, error) {
	opts, err := b.Options(e, l, nil, slog.New(&errorHandler{notice}))
	if err != nil {
		return nil, err
	}
	opts.Grace = closeTimeout
	p := &Page{URL: URL(l.Addr(), false), close: b.Close, stopped: make(chan error, 1)}
	if p.server, err = server.New(opts); err != nil {
		return nil, err
	}
	if p.forget, err = publish(ctx, e, b, opts.Tokens, p.URL, run); err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	go func() { p.stopped <- p.server.Serve(serving, l) }()
	return p, nil
}

// publish creates an access token, and writes it with the page's address to a file in gaffer's
// state folder. Other commands of the same user use the file to find the page and log in. The
// returned function forget deletes the file.
func publish(ctx context.Context, e *env.Env, b Backend, book *credential.TokenStore, address, run string) (forget func() error, err error) {
	text, _, err := book.Create(ctx, credential.TokenSpec{Role: credential.Operator, Name: "page"})
	if err != nil {
		return nil, err
	}
	project, err := e.Project()
	if err != nil {
		return nil, err
	}
	return localservers.Register(b.State, localservers.Server{URL: address, Project: project.Root, Run: run, Token: text})
}

// Link returns a link to the page with this URL fragment, see [RunFragment]. The link logs in the
// first browser that opens it.
func (p *Page) Link(fragment string) (string, error) {
	path, err := p.server.LoginPath()
	if err != nil {
		return "", err
	}
	return p.URL + coordinator.Login{Path: path}.To(fragment), nil
}

// Visited reports whether a browser has logged in.
func (p *Page) Visited() bool { return p.server.Visited() }

// Watched reports whether any client, such as an open page in a browser, currently follows the
// server's event stream.
func (p *Page) Watched() bool { return p.server.Watched() }

// Close deletes the file with the page's address and token, stops the server and closes the
// backend.
func (p *Page) Close() error {
	err := p.forget()
	p.stop()
	return errors.Join(err, <-p.stopped, p.close())
}

// RunFragment returns the URL fragment with which the page shows a run.
func RunFragment(run string) string { return "#/runs/" + url.PathEscape(run) }

// TaskFragment returns the URL fragment with which the page shows a task of a run.
func TaskFragment(run, task string) string {
	return RunFragment(run) + "/tasks/" + url.PathEscape(task)
}

// URL returns the URL at which a browser on this machine reaches the server that listens at addr.
func URL(addr net.Addr, tls bool) string {
	tcp := *addr.(*net.TCPAddr)
	where := tcp.String()
	if tcp.IP.IsUnspecified() {
		where = net.JoinHostPort("localhost", fmt.Sprint(tcp.Port))
	}
	if tls {
		return "https://" + where
	}
	return "http://" + where
}
