// Package fake is an agent program without a language model. It executes the steps in its prompt
// and imitates the protocols of the real programs. It is for tests, for demonstrations, and for a
// first run without an API key. It can also imitate the failures of the real programs.
package fake

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Main runs the fake agent and returns its exit code.
func Main(args []string, in io.Reader, out, errw io.Writer) int {
	o, err := parseOptions(args)
	if err != nil {
		fmt.Fprintf(errw, "fake-agent: %v\n", err)
		return 2
	}
	if o.help {
		fmt.Fprint(out, Help())
		return 0
	}
	w := &stdio{in: bufio.NewReaderSize(in, 64<<10), out: out, err: errw, stopped: make(chan struct{}), cut: make(chan struct{})}
	defer w.close()
	code, err := run(o, w)
	if err != nil {
		fmt.Fprintf(errw, "fake-agent: %v\n", err)
		return 1
	}
	return code
}

// run reads the prompt, executes its steps and reports the result. If the protocol accepts
// messages, each message that arrives after the result starts another turn.
func run(o options, w *stdio) (int, error) {
	v := newProtocol(o, w)
	prompt, err := v.begin()
	if err != nil {
		return 1, err
	}
	a := &actor{stdio: w, protocol: v, attempt: attemptNumber(), result: answerTo(prompt), usage: usage{input: 100 + len(prompt)/4, output: 10}}
	lines, err := o.steps(prompt)
	for {
		if err == nil {
			err = a.turn(lines)
		}
		code, over := a.end(err)
		if over {
			return code, nil
		}
		message, more := v.next()
		if !more {
			return code, nil
		}
		w.newTurn()
		a.result, lines, err = answerTo(message), stepsIn(message), nil
	}
}

// turn executes the steps in the parameter lines. If messages of the user arrive during the turn,
// it executes the steps in the messages too.
func (a *actor) turn(lines []string) error {
	for {
		for _, message := range a.protocol.arrived() {
			a.result = answerTo(message)
			lines = append(lines, stepsIn(message)...)
		}
		if len(lines) == 0 {
			if a.protocol.endTurn() {
				return nil
			}
			continue // go on: another message has arrived
		}
		if err := a.do(lines[0]); err != nil {
			return err
		}
		if a.isStopped() {
			return nil
		}
		lines = lines[1:]
	}
}

// scriptEnd is an error that ends the script, which is the list of steps that the agent executes.
// If fault is set, the program reports that the work failed. If not, the program exits without a
// final message.
type scriptEnd struct {
	code  int
	fault *fault
}

func (scriptEnd) Error() string { return "the script has ended" }

// end prints the final message of a turn. It returns the program's exit code, and whether the
// program must exit now.
func (a *actor) end(err error) (code int, exit bool) {
	var e scriptEnd
	switch {
	case a.isCut() && !errors.As(err, &e):
		return a.protocol.interrupted(a.usage), false
	case errors.As(err, &e) && e.fault == nil:
		return e.code, true
	case errors.As(err, &e):
		return a.protocol.failed(*e.fault, a.usage), false
	case err != nil && !errors.Is(err, errFinished):
		// A step failed, or the script file could not be read: report the error as the result.
		return a.protocol.failed(fault{text: err.Error()}, a.usage), false
	}
	a.protocol.done(a.result, a.usage)
	if a.hangs {
		a.hang()
	}
	return 0, false
}

// answerTo returns the result that the agent reports for a prompt if no step sets another result.
func answerTo(prompt string) string {
	for line := range strings.Lines(prompt) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, stepPrefix) {
			return "Done: " + strings.TrimRight(line, ".:") + "."
		}
	}
	return "Done."
}

func attemptNumber() int {
	n, err := strconv.Atoi(os.Getenv("GAFFER_ATTEMPT_NUMBER"))
	if err != nil {
		return 1
	}
	return n
}

// stdio holds the program's input and output, and whether the program or its current turn was asked
// to end. It is safe for concurrent writes.
type stdio struct {
	in *bufio.Reader

	mu       sync.Mutex
	out, err io.Writer

	stop    sync.Once
	stopped chan struct{} // closed when a signal asks the program to finish
	cut     chan struct{} // closed when the user ends the turn; each turn has its own channel
	release []func()
}

func (w *stdio) close() {
	for _, f := range w.release {
		f()
	}
}

func (w *stdio) line(text string) { w.write([]byte(text + "\n")) }

// write writes data to stdout. If the disk is full, the program exits as the real programs do:
// otherwise it could wait forever for the answer to a question that was not written. All other
// errors are ignored.
func (w *stdio) write(data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.out.Write(data); errors.Is(err, syscall.ENOSPC) {
		fmt.Fprintf(w.err, "fake-agent: %v\n", err)
		os.Exit(1)
	}
}

func (w *stdio) writeStderr(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintln(w.err, text)
}

// isStopped reports whether a signal or the user has asked the agent to finish.
func (w *stdio) isStopped() bool {
	select {
	case <-w.stopped:
		return true
	default:
		return w.isCut()
	}
}

// turnCut returns a channel that is closed when the user ends the current turn.
func (w *stdio) turnCut() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut
}

func (w *stdio) isCut() bool {
	select {
	case <-w.turnCut():
		return true
	default:
		return false
	}
}

// cutTurn ends the current turn.
func (w *stdio) cutTurn() {
	if !w.isCut() {
		w.mu.Lock()
		close(w.cut)
		w.mu.Unlock()
	}
}

func (w *stdio) newTurn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = make(chan struct{})
}

// sleep waits for d. It returns early if a signal or the user asks the agent to finish.
func (w *stdio) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.stopped:
	case <-w.turnCut():
	}
}

// hang prints nothing and waits until a signal or the user asks the agent to finish.
func (w *stdio) hang() {
	for !w.isStopped() {
		w.sleep(time.Hour)
	}
}
