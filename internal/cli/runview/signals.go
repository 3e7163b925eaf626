package runview

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// word is the meaning of a signal.
type word int

const (
	endIt  word = iota + 1 // SIGINT, SIGTERM: end the run, then exit
	hungUp                 // SIGHUP: the terminal was closed; continue in the background
)

// signals replaces the command line's signal handler while this process works on a run.
// That handler exits at the second signal, without restoring the terminal and without
// ending the agents.
type signals struct {
	hear <-chan word
	give func()
}

func takeSignals(ctx context.Context) signals {
	heard := make(chan os.Signal, 4)
	wanted := []os.Signal{os.Interrupt, syscall.SIGTERM}
	signal.Reset(wanted...)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores SIGHUP
		wanted = append(wanted, syscall.SIGHUP)
	}
	signal.Notify(heard, wanted...)
	words, done := make(chan word, 4), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { translate(ctx.Done(), heard, words, done) })
	return signals{words, func() {
		signal.Stop(heard)
		close(done)
		all.Wait()
	}}
}

// translate converts signals to words. It also converts the signal that ended the
// command's context before takeSignals was called.
func translate(before <-chan struct{}, heard <-chan os.Signal, words chan<- word, done <-chan struct{}) {
	for {
		w := endIt
		select {
		case <-done:
			return
		case <-before:
			before = nil
		case s := <-heard:
			if s == syscall.SIGHUP {
				w = hungUp
			}
		}
		select {
		case words <- w:
		case <-done:
			return
		}
	}
}
