package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"gaffer/internal/exit"
)

// interruptible gives a context that the first SIGINT or SIGTERM cancels, so
// that a command can finish the write it is in. A second signal ends the
// process at once: documents on disk are whole at every moment.
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
