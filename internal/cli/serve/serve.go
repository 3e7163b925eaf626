// Package serve implements the command 'gaffer serve': an HTTP server through which users and
// workers on many machines share a fleet.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/api/credential"
	"gaffer/internal/api/server"
	"gaffer/internal/api/viewers"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/page"
	runcmd "gaffer/internal/cli/run"
	"gaffer/internal/connect/localservers"
	"gaffer/internal/engine"
	"gaffer/internal/engine/logstore"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

// options holds the values of the command's flags.
type options struct {
	listen      string
	hosts       []string
	proxies     []string // addresses of the proxies whose X-Forwarded headers are trusted
	cert, key   string
	tls         bool
	insecure    bool
	openReads   bool
	rate        float64
	connections int
	keep        env.Age // how long ended runs are kept; 0 means that none is deleted
	lease       time.Duration
	logLimit    int
	announce    bool
	workersOnly bool
	localRuns   bool // --workers-only=false was given
	verbose     bool

	terminal bool // stdout is a terminal, and no agent has started the command
}

// New creates the command 'gaffer serve'.
func New(e *env.Env) *cobra.Command { return newWith(e, Open(e), display.IsTerminal(e.Out)) }

func newWith(e *env.Env, open Opener, terminal bool) *cobra.Command {
	o := options{terminal: terminal}
	cmd := &cobra.Command{
		Use:                   "serve [--listen ADDRESS] [FLAG]…",
		DisableFlagsInUseLine: true,
		Short:                 "Let workers and users of many machines share a fleet",
		Long: `Serve the coordinator protocol over HTTP. Agents report what they do, take tasks
and report the results. Users add tasks, answer questions and watch changes.

Every request needs a token; 'gaffer token' creates them. The first start
creates an admin token and stores it in a file that only you can read. In a
terminal it also prints that token, once, and at every start a link that logs a
browser in. The link works once, within a minute. Without a terminal it prints
neither, because its output may be stored in a log. 'gaffer open' creates and
opens another link.

It also shows the runs of this machine. If a user retries, cancels or answers in
a run that no process works on, it starts 'gaffer resume' in the background.
Users with the role operator or admin can start runs here, in the folders of
projects that it knows; --workers-only prevents that. If other machines can reach
the server, only --workers-only=false allows it.

It accepts connections from other machines only with TLS: with --tls-cert and
--tls-key, or with --tls and a certificate that it creates. It prints the
fingerprint of that certificate.

Behind a reverse proxy, --host allows the name that clients use, and
--trusted-proxy names the proxy: X-Forwarded-For, -Host and -Proto are accepted
only from there. /health answers load balancers without a token, under any name.

It logs to stderr, one JSON object per line: every change, and who made it.
After SIGTERM or Ctrl-C it finishes current requests, for at most 10 seconds.`,
		Example: "  gaffer serve\n  gaffer serve --listen 0.0.0.0:4870 --tls --host build.example\n  gaffer serve --db postgres://localhost/gaffer",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.localRuns = cmd.Flags().Changed("workers-only") && !o.workersOnly
			return run(cmd.Context(), e, o, open)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.listen, "listen", "127.0.0.1:4870", "`ADDRESS` and port to listen on")
	flags.StringArrayVar(&o.hosts, "host", nil, "another `NAME` that clients may use for the server")
	flags.StringArrayVar(&o.proxies, "trusted-proxy", nil, "accept X-Forwarded headers from the proxy at `ADDRESS`, or from a range such as 10.0.0.0/24")
	flags.BoolVar(&o.tls, "tls", false, "use TLS with a certificate that gaffer creates")
	flags.StringVar(&o.cert, "tls-cert", "", "use TLS with the certificate in `FILE`")
	flags.StringVar(&o.key, "tls-key", "", "the certificate's key, in `FILE`")
	flags.BoolVar(&o.insecure, "insecure", false, "accept connections from other machines without TLS")
	flags.BoolVar(&o.openReads, "open-reads", false, "let every program on this machine read without a token")
	flags.Float64Var(&o.rate, "rate", 1000, "requests per second and token, `N`; 0 for no limit")
	flags.IntVar(&o.connections, "connections", 4096, "maximum number of open connections, `N`")
	flags.DurationVar(&o.lease, "lease", engine.DefaultLease, "give a task to another worker if its worker sends no heartbeat for `TIME`")
	flags.IntVar(&o.logLimit, "log-limit", logstore.DefaultKeep>>20, "keep the last `MIB` of each attempt's log")
	flags.Var(&o.keep, "keep", "every hour, delete what ended longer ago, like 'gaffer prune'; for example 30d")
	flags.BoolVar(&o.workersOnly, "workers-only", false, "let users start runs only on workers, not on this machine; the default if other machines can reach the server")
	flags.BoolVar(&o.announce, "announce", false, "write the address to ~/.fctry/viewer.port.json and viewer.pid, where programs look for a viewer")
	flags.BoolVar(&o.verbose, "verbose", false, "log every request")
	return cmd
}

const (
	shortestKeep = time.Hour       // minimum for --keep
	minLease     = 2 * time.Second // minimum for --lease
	maxLogLimit  = 1024            // maximum for --log-limit, in MiB
)

func (o options) check() error {
	switch {
	case (o.cert == "") != (o.key == ""):
		return exit.Usage(errors.New("--tls-cert and --tls-key go together"))
	case o.tls && o.cert != "":
		return exit.Usage(errors.New("--tls makes a certificate: leave it out with --tls-cert"))
	case o.lease < minLease || o.lease > engine.MaxLease:
		return exit.Usage(fmt.Errorf("--lease %s: want %s at least and %s at most", o.lease, minLease, engine.MaxLease))
	case o.logLimit < 1 || o.logLimit > maxLogLimit:
		return exit.Usage(fmt.Errorf("--log-limit %d: want 1 to %d", o.logLimit, maxLogLimit))
	case o.connections < 1:
		return exit.Usage(fmt.Errorf("--connections %d: want 1 at least", o.connections))
	case o.keep > 0 && time.Duration(o.keep) < shortestKeep:
		return exit.Usage(fmt.Errorf("--keep %s: want %s at least", o.keep.String(), shortestKeep))
	case o.rate < 0 || math.IsNaN(o.rate):
		return exit.Usage(fmt.Errorf("--rate %g: want 0 or more", o.rate))
	}
	return nil
}

// gcPercent is the GC percentage of a server, for [debug.SetGCPercent]. It is above the default of
// 100, so that the server collects garbage less often.
const gcPercent = 300

// run starts the server and serves until ctx ends.
func run(ctx context.Context, e *env.Env, o options, open Opener) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	// Print tokens and links only for a user, and not for an agent.
	o.terminal = o.terminal && e.Agent() == nil
	l, err := listen(ctx, o)
	if err != nil {
		return err
	}
	// Ignore the error: a server that was started has already closed l. If no server was started, l
	// was not used.
	defer func() { _ = l.Close() }()
	b, err := open(ctx, app.ServerOptions{Lease: o.lease, KeepLog: int64(o.logLimit) << 20, Notify: true, WorkersOnly: o.workersOnly || !o.localRuns && o.forOthers(l), LoadPlan: runcmd.Loader(e)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	// Remove the memory limit that cli.Main sets for short commands. It would make a server collect
	// garbage all the time, because a server allocates a lot although it holds little memory.
	debug.SetMemoryLimit(math.MaxInt64)
	debug.SetGCPercent(gcPercent)
	tokens, err := credential.LockTokenFile(filepath.Join(b.State, "token"))
	if err != nil {
		return err
	}
	defer tokens.Release()
	s, opts, err := newServer(ctx, e, o, b, l, tokens)
	if err != nil {
		return err
	}
	defer register(e, b, opts, l)()
	if err := printAddress(e, s, o, opts, l); err != nil {
		return err
	}
	if o.announce {
		gone, wrong := writeViewerFile(e, opts, l)
		if wrong != nil {
			return wrong
		}
		defer func() { err = errors.Join(err, gone()) }()
	}
	if o.keep > 0 {
		defer b.DeleteOldRuns(time.Duration(o.keep))()
	}
	if err := s.Serve(ctx, l); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	opts.Log.Info("stopped")
	return nil
}

// listen opens the listener. If other machines can reach the address, listen returns an error in
// two cases: --open-reads is set, or the server would use no TLS and --insecure is not set.
func listen(ctx context.Context, o options) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	beyond := !l.Addr().(*net.TCPAddr).IP.IsLoopback()
	switch {
	case beyond && o.openReads:
		err = exit.Usage(fmt.Errorf("--open-reads is for this machine alone, and %s can be reached from others", o.listen))
	case beyond && !o.tls && o.cert == "" && !o.insecure:
		err = exit.WithHint(exit.Usage(fmt.Errorf("%s can be reached from other machines, which would send their tokens in plain text", o.listen)),
			"use --tls, or --tls-cert and --tls-key; --insecure if something else encrypts")
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// forOthers reports whether other machines can reach the server, directly or through a proxy.
func (o options) forOthers(l net.Listener) bool {
	return !l.Addr().(*net.TCPAddr).IP.IsLoopback() || len(o.hosts) > 0 || len(o.proxies) > 0
}

func newServer(ctx context.Context, e *env.Env, o options, b page.Backend, l net.Listener, tokens *credential.TokenFile) (*server.Server, server.Options, error) {
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	opts, err := b.Options(e, l, o.hosts, server.NewLog(e.Err, level))
	if err != nil {
		return nil, opts, err
	}
	if opts.Proxies, err = server.ParseProxies(o.proxies); err != nil {
		return nil, opts, exit.Usage(fmt.Errorf("--trusted-proxy: %w", err))
	}
	opts.OpenReads, opts.Rate, opts.Connections = o.openReads, o.rate, o.connections
	if o.rate == 0 {
		opts.Rate = -1
	}
	switch {
	case o.cert != "":
		opts.TLS, err = server.Certificate(e.Path(o.cert), e.Path(o.key))
	case o.tls:
		host, _, _ := net.SplitHostPort(l.Addr().String()) // cannot fail: the address of a listener is valid
		opts.TLS, err = server.SelfSigned(filepath.Join(b.State, "tls.pem"), opts.Hosts, append(slices.Clone(o.hosts), host), e.Now())
	}
	if err != nil {
		return nil, opts, err
	}
	if err := createFirstToken(ctx, e, o, opts.Tokens, tokens, filepath.Join(b.State, "token")); err != nil {
		return nil, opts, err
	}
	s, err := server.New(opts)
	return s, opts, err
}

// createFirstToken creates the first admin's token if there is no token yet, and prints the path of
// its file. It prints the token itself only when it was just created, and only to a terminal.
func createFirstToken(ctx context.Context, e *env.Env, o options, book *credential.TokenStore, tokens *credential.TokenFile, file string) error {
	text, err := tokens.CreateFirst(ctx, book)
	if err != nil {
		return err
	}
	if text == "" {
		return e.Printf("The first admin's token is in %s, if it was made on this machine\n", file)
	}
	if !o.terminal {
		return e.Printf("The token of the first admin is in %s, which only you can read\n", file)
	}
	return e.Printf("The token of the first admin is kept in %s and not shown again:\n  %s\n", file, text)
}

// printAddress prints the server's address and, with TLS, the fingerprint of its certificate. On a
// terminal it also prints a link that logs a browser in.
func printAddress(e *env.Env, s *server.Server, o options, opts server.Options, l net.Listener) error {
	base := page.URL(l.Addr(), opts.TLS != nil)
	if err := e.Printf("Listening on %s\n", base); err != nil {
		return err
	}
	if o.terminal {
		path, err := s.LoginPath()
		if err != nil {
			return err
		}
		if err := e.Printf("Log a browser in, once, within a minute: %s%s\n", base, path); err != nil {
			return err
		}
	}
	if opts.TLS != nil {
		return e.Printf("SHA-256 fingerprint of the certificate: %s\n", server.Fingerprint(opts.TLS))
	}
	return nil
}

// register writes a file from which 'gaffer open' on this machine finds the server. It does nothing
// if the server's address on this machine is not a loopback address. If writing fails, register
// only logs a warning. The function forget removes the file.
func register(e *env.Env, b page.Backend, opts server.Options, l net.Listener) (forget func()) {
	s := localservers.Server{URL: page.URL(l.Addr(), opts.TLS != nil)}
	if p, err := e.Project(); err == nil {
		s.Project = p.Root
	}
	if !localservers.OnLoopback(s.URL) {
		return func() {}
	}
	remove, err := localservers.Register(b.State, s)
	if err != nil {
		opts.Log.Warn("'gaffer open' will not find this server", "error", err)
		return func() {}
	}
	// Ignore the error: readers ignore a file that names a process that no longer exists.
	return func() { _ = remove() }
}

// writeViewerFile writes the server's address to ~/.fctry/viewer.port.json, and its process id to
// viewer.pid in the same folder. Other programs on this machine look there for a viewer. The
// function remove deletes both files.
func writeViewerFile(e *env.Env, opts server.Options, l net.Listener) (remove func() error, err error) {
	home := e.Getenv("HOME")
	if home == "" {
		return nil, errors.New("--announce: HOME does not say where to write it")
	}
	return viewers.WritePortFile(viewers.PortFile(home), viewers.Port{Port: l.Addr().(*net.TCPAddr).Port, PID: os.Getpid(), URL: page.URL(l.Addr(), opts.TLS != nil)})
}
