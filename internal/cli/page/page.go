// Package page lets a command show the dashboard: from a server of its own, for
// the browser of the person who has started it, or from another one.
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

// Page is a dashboard that this process serves on this machine, until Close.
//
// It needs no settings and leaves nothing in the database: its tokens are in
// memory, one of them in a note that 'gaffer open' of the same user finds.
type Page struct {
	URL string // of the server

	server  *server.Server
	close   func() error // of what answers
	forget  func() error // takes the note away
	stop    context.CancelFunc
	stopped chan error
}

// ending is how long requests that are under way may take when a page is closed.
const ending = time.Second

// Open shows what runs where a does. Failures that nobody else would see are told
// to notice.
func Open(ctx context.Context, e *env.Env, a *app.App, run string, notice func(text string)) (_ *Page, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	c, err := a.Show()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	b := Of(c)
	b.Tokens = &credential.Memory{}
	p, err := Begin(ctx, e, b, l, run, notice)
	if err != nil {
		return nil, errors.Join(err, l.Close(), b.Close())
	}
	return p, nil
}

// Begin shows what a backend has to browsers that reach l, and closes both in the
// end. If there is an error it closes neither.
func Begin(ctx context.Context, e *env.Env, b Backend, l net.Listener, run string, notice func(string)) (*Page, error) {
	opts, err := b.Options(e, l, nil, slog.New(&failures{notice}))
	if err != nil {
		return nil, err
	}
	opts.Grace = ending
	p := &Page{URL: URL(l.Addr(), false), close: b.Close, stopped: make(chan error, 1)}
	if p.server, err = server.New(opts); err != nil {
		return nil, err
	}
	if p.forget, err = note(ctx, e, b, opts.Tokens, p.URL, run); err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	go func() { p.stopped <- p.server.Serve(serving, l) }()
	return p, nil
}

// note lets other commands of this user find the page and get in.
func note(ctx context.Context, e *env.Env, b Backend, book *credential.Book, address, run string) (forget func() error, err error) {
	text, _, err := book.Create(ctx, credential.New{Role: credential.Operator, Name: "page"})
	if err != nil {
		return nil, err
	}
	project, err := e.Project()
	if err != nil {
		return nil, err
	}
	return localservers.Put(b.State, localservers.Server{URL: address, Project: project.Root, Run: run, Token: text})
}

// Link makes a link that logs a browser in, once, and leads to a place on the page.
func (p *Page) Link(place string) (string, error) {
	path, err := p.server.LoginPath()
	if err != nil {
		return "", err
	}
	return p.URL + coordinator.Login{Path: path}.To(place), nil
}

// Visited reports whether any browser has logged in.
func (p *Page) Visited() bool { return p.server.Visited() }

// Watched reports whether a browser shows the page.
func (p *Page) Watched() bool { return p.server.Watched() }

// Close ends the page.
func (p *Page) Close() error {
	err := p.forget()
	p.stop()
	return errors.Join(err, <-p.stopped, p.close())
}

// RunPlace is where a run is on the page, and TaskPlace where one of its tasks is.
func RunPlace(run string) string { return "#/runs/" + url.PathEscape(run) }

// TaskPlace is where a task of a run is on the page.
func TaskPlace(run, task string) string { return RunPlace(run) + "/tasks/" + url.PathEscape(task) }

// URL is where a browser of this machine finds a server that listens at an address.
func URL(at net.Addr, tls bool) string {
	tcp := *at.(*net.TCPAddr)
	where := tcp.String()
	if tcp.IP.IsUnspecified() {
		where = net.JoinHostPort("localhost", fmt.Sprint(tcp.Port))
	}
	if tls {
		return "https://" + where
	}
	return "http://" + where
}
