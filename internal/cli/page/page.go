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

// Page is a dashboard that this process serves on this machine until Close.
//
// A page that Open returns keeps its access tokens in memory, and stores nothing in the database.
// While a page is served, a file in the state folder holds its address and one of its tokens. With
// that file, 'gaffer open' of the same user finds the page and logs in.
type Page struct {
	URL string // the address of the server

	server  *server.Server
	close   func() error // closes the backend
	forget  func() error // deletes the file in the state folder that publish has written
	stop    context.CancelFunc
	stopped chan error
}

// closeTimeout is how long Close waits for pending requests.
const closeTimeout = time.Second

// Open serves the dashboard for the fleet of the app a, on a free port of the loopback address. run
// is the id of the run with which the page ends, or "" if there is none. Errors of the server are
// passed to notice.
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

// Serve serves the dashboard of a backend on l, in the background. run is the id of the run with
// which the page ends, or "" if there is none. [Page.Close] closes b and l. If Serve returns an
// error, b and l are still open.
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

// publish creates a token, and writes it with the page's address to a file in the state folder.
// With this file, other commands of this user find the page and log in. The function forget deletes
// the file.
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

// Link returns a link to a fragment of the page. The link logs in the first browser that opens it.
func (p *Page) Link(fragment string) (string, error) {
	path, err := p.server.LoginPath()
	if err != nil {
		return "", err
	}
	return p.URL + coordinator.Login{Path: path}.To(fragment), nil
}

// Visited reports whether a browser has logged in.
func (p *Page) Visited() bool { return p.server.Visited() }

// Watched reports whether a browser currently shows the page.
func (p *Page) Watched() bool { return p.server.Watched() }

// Close deletes the file in the state folder, stops the server and closes the backend.
func (p *Page) Close() error {
	err := p.forget()
	p.stop()
	return errors.Join(err, <-p.stopped, p.close())
}

// RunFragment returns the URL fragment of a run on the page.
func RunFragment(run string) string { return "#/runs/" + url.PathEscape(run) }

// TaskFragment returns the URL fragment of a task on the page.
func TaskFragment(run, task string) string {
	return RunFragment(run) + "/tasks/" + url.PathEscape(task)
}

// URL returns the address at which a browser on this machine reaches the server that listens at
// addr.
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
