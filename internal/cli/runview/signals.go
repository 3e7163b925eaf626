package runview

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// word is what a signal says.
type word int

const (
	endIt  word = iota + 1 // SIGINT, SIGTERM: end the run, then leave
	hungUp                 // SIGHUP: the terminal is gone; go on without it
)

// signals are this process's while a run is worked on: the command line's own
// handler would end the process at the second one, with the terminal not given
// back and agents not ended.
type signals struct {
	hear <-chan word
	give func()
}

func takeSignals(ctx context.Context) signals {
	heard := make(chan os.Signal, 4)
	wanted := []os.Signal{os.Interrupt, syscall.SIGTERM}
	signal.Reset(wanted...)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup asks for
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

// translate passes signals on as words, also the one that ended the command's
// context before they were ours.
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
