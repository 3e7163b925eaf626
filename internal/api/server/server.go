package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"gaffer/internal/api/credential"
)

// Options configures a Server. If a limit or a duration is zero, New replaces it with a default.
type Options struct {
	Protocol  Protocol
	Viewer    Viewer    // nil if the server has no workflow viewer, a page that shows a project's workflow files
	Runs      Runs      // nil if the server does not serve runs
	Changes   Changes   // nil if the server does not serve changes of tasks
	Landing   Landing   // nil if the server cannot merge changes
	Terminals Terminals // nil if the server does not show terminals of agents
	NewRuns   NewRuns   // nil if the server starts no runs
	Schedules Schedules // nil if the server has no schedules
	Work      Work      // nil if the server does not serve gaffer's own workers
	Page      Page      // nil if the server has no dashboard
	Tokens    *credential.TokenStore
	Log       *slog.Logger // use NewLog, which redacts tokens
	Now       func() time.Time
	Random    io.Reader

	Version   string         // version of the program, reported by /v1/self
	Hosts     []string       // host names by which clients may address the server, without ports; HostsOf lists them
	Proxies   []netip.Prefix // trusted proxies: the server uses the X-Forwarded headers that they set
	TLS       *tls.Config    // nil for plain HTTP
	OpenReads bool           // clients on this machine may read without a token

	Rate                float64       // how many requests per second are allowed with each token; negative for no limit
	UnauthenticatedRate float64       // how many requests per second all clients without a valid token may send together; negative for no limit
	Connections         int           // maximum number of open connections
	KeepAlive           time.Duration // after this time without a message, an idle stream gets a ping
	Send                time.Duration // how long a stream client may take to receive a message
	Header              time.Duration // how long a client may take to send a request's header
	Body                time.Duration // how long a client may take to send a request's body
	Grace               time.Duration // how long Serve waits for unfinished requests when it stops
	Buffer              int           // how many bytes of unsent changes a stream client may have; a slower client is disconnected
}

const (
	defaultRate                = 1000
	defaultUnauthenticatedRate = 50
	defaultConnections         = 4096
	defaultKeepAlive           = 15 * time.Second
	defaultSend                = 10 * time.Second
	defaultHeader              = 10 * time.Second
	defaultBody                = 30 * time.Second
	defaultGrace               = 10 * time.Second
	defaultBuffer              = 16 << 20

	maxBody        = 1 << 20
	maxHeader      = 64 << 10
	idleTimeout    = 2 * time.Minute
	answerTimeout  = 60 * time.Second // how long it may take to handle a request and send the answer
	serviceTimeout = 30 * time.Second // how long a service may take for a request
	tidyInterval   = time.Minute
)

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&o.KeepAlive, defaultKeepAlive)
	set(&o.Send, defaultSend)
	set(&o.Header, defaultHeader)
	set(&o.Body, defaultBody)
	set(&o.Grace, defaultGrace)
	if o.Rate == 0 {
		o.Rate = defaultRate
	}
	if o.UnauthenticatedRate == 0 {
		o.UnauthenticatedRate = defaultUnauthenticatedRate
	}
	if o.Connections == 0 {
		o.Connections = defaultConnections
	}
	if o.Buffer == 0 {
		o.Buffer = defaultBuffer
	}
	return o
}

// Server answers HTTP requests. Create it with New and call Serve once.
type Server struct {
	opts     Options
	log      *slog.Logger
	access   *accessControl
	limiter  *rateLimiter
	logins   *loginCodes
	metrics  *metrics
	hub      *hub
	activity *activityFeed
	live     *liveConnections
	handler  http.Handler
}

// New returns a server that does not listen yet.
func New(opts Options) (*Server, error) {
	opts = opts.withDefaults()
	limiter := newRateLimiter(opts.Rate, opts.UnauthenticatedRate, opts.Now)
	s := &Server{
		opts: opts, log: opts.Log, limiter: limiter,
		access:   &accessControl{tokens: opts.Tokens, limiter: limiter, hosts: hostSet(opts.Hosts), openReads: opts.OpenReads},
		logins:   &loginCodes{now: opts.Now, random: opts.Random},
		metrics:  newMetrics(),
		hub:      newHub(opts.Protocol, opts.Log, opts.Buffer),
		activity: newActivityFeed(opts.Protocol, opts.Runs, opts.Now, opts.Log),
	}
	s.live = &liveConnections{tokens: opts.Tokens, ping: opts.KeepAlive, send: opts.Send, cut: &s.metrics.cut, stopping: make(chan struct{})}
	info := &infoHandlers{version: opts.Version, now: opts.Now, service: opts.Protocol, page: opts.Page, live: s.live, log: opts.Log}
	table := s.routes(info)
	var err error
	if info.openapi, err = describe(table); err != nil {
		return nil, err
	}
	s.handler = s.newHandler(table)
	return s, nil
}

// Serve accepts connections from l and answers requests until ctx ends. Then it accepts no more
// requests, ends the event streams, and waits up to Options.Grace for unfinished requests. It
// closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	l = limitConnections(l, s.opts.Connections)
	requests, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	web := s.web(requests)

	var helpers sync.WaitGroup
	helpers.Go(func() { s.hub.run(requests) })
	helpers.Go(func() { s.activity.run(requests) })
	helpers.Go(func() { s.tidy(requests) })
	served := make(chan error, 1)
	go func() {
		if web.TLSConfig != nil {
			served <- web.ServeTLS(l, "", "")
		} else {
			served <- web.Serve(l)
		}
	}()

	var err error
	select {
	case err = <-served: // the listener has failed
		close(s.live.stopping)
		err = errors.Join(err, web.Close())
	case <-ctx.Done():
		err = s.stop(web)
		<-served
	}
	abandon()
	s.live.sockets.wait(context.Background()) // the WebSockets close, because abandon has cancelled their contexts
	helpers.Wait()
	return err
}

func (s *Server) web(base context.Context) *http.Server {
	return &http.Server{
		Handler:           s.handler,
		TLSConfig:         s.opts.TLS,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       withConn,
		ReadHeaderTimeout: s.opts.Header,
		ReadTimeout:       s.opts.Header + s.opts.Body,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader - 4096, // net/http allows 4096 bytes more than this
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

func (s *Server) stop(web *http.Server) error {
	close(s.live.stopping)
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Grace)
	defer cancel()
	err := web.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("requests were still under way and were cut off", "waited", s.opts.Grace)
		err = web.Close()
	}
	s.live.sockets.wait(ctx)
	return err
}

// tidy stores when tokens were last used, deletes expired tokens, and frees the memory of rate
// limits that are not in use. It does so every tidyInterval until ctx ends, and then once more.
func (s *Server) tidy(ctx context.Context) {
	ticker := time.NewTicker(tidyInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.tidyTokens(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			s.tidyTokens(last)
			cancel()
			return
		}
	}
}

func (s *Server) tidyTokens(ctx context.Context) {
	s.limiter.forget()
	if err := s.opts.Tokens.Tidy(ctx); err != nil {
		s.log.Warn("tokens were not tidied", "error", err)
	}
}
