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

// Options configures a Server. Zero limits and times mean the defaults below.
type Options struct {
	Protocol Protocol
	Viewer   Viewer // nil if the server has none
	Runs     Runs   // nil if the coordinator has no runs
	Work     Work   // nil if the coordinator does not serve gaffer's own workers
	Page     Page   // nil if the coordinator has no dashboard
	Tokens   *credential.Book
	Log      *slog.Logger // see NewLog
	Now      func() time.Time
	Random   io.Reader

	Version   string         // of the program, reported by /v1/self
	Hosts     []string       // accepted host names, without ports; see HostsOf
	Proxies   []netip.Prefix // trusted proxies: their X-Forwarded headers are used
	TLS       *tls.Config    // nil for plain HTTP
	OpenReads bool           // reads from this machine need no token

	Rate        float64       // requests of one token per second; negative for no limit
	Strangers   float64       // requests per second of all clients without a valid token; negative for no limit
	Connections int           // maximum number of open connections
	Ping        time.Duration // interval between signs of life on an idle stream
	Send        time.Duration // how long a stream client may take to receive a message
	Header      time.Duration // how long a request's header may take
	Body        time.Duration // how long a request's body may take
	Grace       time.Duration // how long Serve waits for unfinished requests when it stops
	Buffer      int           // bytes of changes that a slow stream client may be behind
}

const (
	defaultRate        = 1000
	defaultStrangers   = 50
	defaultConnections = 4096
	defaultPing        = 15 * time.Second
	defaultSend        = 10 * time.Second
	defaultHeader      = 10 * time.Second
	defaultBody        = 30 * time.Second
	defaultGrace       = 10 * time.Second
	defaultBuffer      = 16 << 20

	maxBody     = 1 << 20
	maxHeader   = 64 << 10
	idle        = 2 * time.Minute
	answering   = 60 * time.Second // how long an answer may take to be produced and received
	serviceTime = 30 * time.Second // how long the service may take
	tidying     = time.Minute
)

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&o.Ping, defaultPing)
	set(&o.Send, defaultSend)
	set(&o.Header, defaultHeader)
	set(&o.Body, defaultBody)
	set(&o.Grace, defaultGrace)
	if o.Rate == 0 {
		o.Rate = defaultRate
	}
	if o.Strangers == 0 {
		o.Strangers = defaultStrangers
	}
	if o.Connections == 0 {
		o.Connections = defaultConnections
	}
	if o.Buffer == 0 {
		o.Buffer = defaultBuffer
	}
	return o
}

// Server answers HTTP requests. Create it with New and use it once.
type Server struct {
	opts     Options
	protocol Protocol
	tokens   *credential.Book
	log      *slog.Logger
	hosts    map[string]bool
	rates    *rates
	logins   *logins
	metrics  *metrics
	hub      *hub

	sightings *sightings
	openapi   []byte
	handler   http.Handler
	stopping  chan struct{} // closed when the server no longer accepts work

	replaying  chan struct{} // one value for each client that is served from the database
	submitting chan struct{} // one value for each plan that is being received
	sockets    sockets
}

// New returns a server that does not listen yet.
func New(opts Options) (*Server, error) {
	opts = opts.withDefaults()
	s := &Server{
		opts: opts, protocol: opts.Protocol, tokens: opts.Tokens, log: opts.Log,
		hosts:    hostSet(opts.Hosts),
		rates:    newRates(opts.Rate, opts.Strangers, opts.Now),
		logins:   &logins{now: opts.Now, random: opts.Random},
		stopping: make(chan struct{}), replaying: make(chan struct{}, replays), submitting: make(chan struct{}, submits),
	}
	s.hub = newHub(opts.Protocol, opts.Log, opts.Buffer)
	s.sightings = newSightings(opts.Protocol, opts.Runs, opts.Now, opts.Log)
	s.metrics = newMetrics()
	document, err := describe(routes())
	if err != nil {
		return nil, err
	}
	s.openapi = document
	s.handler = s.newHandler(routes())
	return s, nil
}

// Serve answers requests until ctx ends. Then it accepts no more, ends the streams, and
// waits up to Options.Grace for unfinished requests. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	l = limit(l, s.opts.Connections)
	requests, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	web := s.web(requests)

	var helpers sync.WaitGroup
	helpers.Go(func() { s.hub.run(requests) })
	helpers.Go(func() { s.sightings.run(requests) })
	helpers.Go(func() { s.tidy(requests) })
	served := make(chan error, 1)
	go func() { served <- serve(web, l) }()

	var err error
	select {
	case err = <-served: // it cannot continue
		close(s.stopping)
		err = errors.Join(err, web.Close())
	case <-ctx.Done():
		err = s.stop(web)
		<-served
	}
	abandon()
	s.sockets.wait(context.Background()) // they end with their requests
	helpers.Wait()
	return err
}

func (s *Server) web(base context.Context) *http.Server {
	return &http.Server{
		Handler:           s.handler,
		TLSConfig:         s.opts.TLS,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       withPlace,
		ReadHeaderTimeout: s.opts.Header,
		ReadTimeout:       s.opts.Header + s.opts.Body,
		WriteTimeout:      answering,
		IdleTimeout:       idle,
		MaxHeaderBytes:    maxHeader - 4096, // net/http adds that much
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

func serve(web *http.Server, l net.Listener) error {
	if web.TLSConfig != nil {
		return web.ServeTLS(l, "", "")
	}
	return web.Serve(l)
}

func (s *Server) stop(web *http.Server) error {
	close(s.stopping)
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Grace)
	defer cancel()
	err := web.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("requests were still under way and were cut off", "waited", s.opts.Grace)
		err = web.Close()
	}
	s.sockets.wait(ctx)
	return err
}

// tidy periodically stores the last uses of tokens, and drops expired tokens and unused
// rate limits.
func (s *Server) tidy(ctx context.Context) {
	ticker := time.NewTicker(tidying)
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
	s.rates.forget()
	if err := s.tokens.Tidy(ctx); err != nil {
		s.log.Warn("tokens were not tidied", "error", err)
	}
}
