package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"gaffer/internal/exit"
)

// interruptible returns a context that is cancelled by the first SIGINT or SIGTERM, so that the
// command can finish its current write. A second signal ends the process at once. This is safe,
// because gaffer replaces files atomically.
func interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(int(exit.CodeInterrupted))
	}()
	return ctx, cancel
}
