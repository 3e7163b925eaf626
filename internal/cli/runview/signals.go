package runview

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// request is what the user asks for by a signal.
type request int

const (
	endRun request = iota + 1 // SIGINT or SIGTERM: end the run, then exit
	hangUp                    // SIGHUP: the terminal was closed, so continue in the background
)

// takeSignals sends a request on the channel requests for each signal, while this process shows a
// run. It replaces the command line's signal handler, which would exit at the second signal without
// restoring the terminal and without ending the agents. If a signal has already cancelled ctx,
// takeSignals sends a request for that signal, too. After the function release was called, no more
// requests are sent.
func takeSignals(ctx context.Context) (requests <-chan request, release func()) {
	received := make(chan os.Signal, 4)
	wanted := []os.Signal{os.Interrupt, syscall.SIGTERM}
	signal.Reset(wanted...)
	if !signal.Ignored(syscall.SIGHUP) { // under nohup, SIGHUP is ignored and must stay ignored
		wanted = append(wanted, syscall.SIGHUP)
	}
	signal.Notify(received, wanted...)
	out, done := make(chan request, 4), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		before := ctx.Done()
		for {
			r := endRun
			select {
			case <-done:
				return
			case <-before:
				before = nil
			case s := <-received:
				if s == syscall.SIGHUP {
					r = hangUp
				}
			}
			select {
			case out <- r:
			case <-done:
				return
			}
		}
	})
	return out, func() {
		signal.Stop(received)
		close(done)
		all.Wait()
	}
}
