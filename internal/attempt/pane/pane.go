package pane

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"gaffer/internal/attempt/runner"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/text/safe"
)

// lookEvery is the interval between two reads of the agent's log.
const lookEvery = 100 * time.Millisecond

// Main runs the pane program until the supervisor has exited. It returns the program's exit code.
func Main(list []string, in io.Reader, out io.Writer) int {
	// Ignore the signals that keys such as Ctrl-C and Ctrl-Z send, so that they do not end or
	// suspend the display.
	signal.Ignore(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP)
	args, err := ParseArgs(list)
	if err == nil {
		err = run(args, in, out)
	}
	if err != nil {
		fmt.Fprintln(out, "gaffer:", err)
		return 1
	}
	return 0
}

func run(args Args, in io.Reader, out io.Writer) error {
	v, err := newView(args.Kind, args.Policy)
	if err != nil {
		return err
	}
	wait, err := supervisor.Host(args.Socket, nil)
	if err != nil {
		return err
	}
	over := make(chan struct{})
	go func() { // ends when the supervisor exits
		defer close(over)
		wait()
	}()
	typed := make(chan string)
	go read(in, typed) // runs until stdin ends or the process exits
	_, task, _ := strings.Cut(args.Task, "/")
	fmt.Fprintf(out, "gaffer: %s. Keys do not reach the agent; 'gaffer cancel %s' ends it.\n\n", task, task)
	p := &pane{args: args, view: v, log: runner.OpenLog(args.Log, args.From), out: safe.New(out)}
	return p.until(over, typed)
}

// read reads the lines that the user types, and sends each of them to the channel.
func read(in io.Reader, typed chan<- string) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		typed <- lines.Text()
	}
}

// pane displays one attempt.
type pane struct {
	args Args
	view *view
	log  *runner.Log
	out  io.Writer
}

func (p *pane) until(over <-chan struct{}, typed <-chan string) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return p.show(true)
		case text := <-typed:
			p.answer(text)
		case <-tick.C:
			if err := p.show(false); err != nil {
				return err
			}
		}
	}
}

func (p *pane) show(last bool) (err error) {
	readErr := p.log.Lines(last, func(line []byte) {
		if text := p.view.line(line); text != "" && err == nil {
			_, err = io.WriteString(p.out, text)
		}
	})
	if err == nil {
		err = readErr
	}
	return err
}

// answer answers the agent's question with the text that the user has typed. It runs 'gaffer
// answer' and shows the output of that command.
func (p *pane) answer(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if p.view.asks == nil {
		fmt.Fprintln(p.out, "the agent asks nothing")
		return
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(p.out, err)
		return
	}
	cmd := exec.Command(self, p.view.answer(p.args.Task, text)...)
	cmd.Stdout, cmd.Stderr = p.out, p.out
	if err := cmd.Run(); err == nil {
		p.view.asks = nil
	}
}
