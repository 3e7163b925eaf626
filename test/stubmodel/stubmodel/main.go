// Command stubmodel runs the stub model, an HTTP server that imitates the APIs of language models.
// With it you can try an agent program without a real model.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"gaffer/test/stubmodel"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "stubmodel:", err)
		os.Exit(1)
	}
}

func run() error {
	port := flag.Int("port", 0, "the port to listen on, of the loopback interface; 0 is any that is free")
	flag.Usage = usage
	flag.Parse()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return stubmodel.New().Listen(ctx, l)
}

func usage() {
	fmt.Fprintf(os.Stderr, `usage: stubmodel [-port N]

Prints its URL. The base URL for a program is URL/m/MODE, or URL/t/NAME for
modes that are set by POST URL/t/NAME/mode with a JSON array of them, one for
each turn. GET URL/t/NAME/requests shows what was asked. The modes are

%s
`, stubmodel.Modes)
}
