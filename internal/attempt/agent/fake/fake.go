// Package fake is an agent program without a model. It executes the steps in its prompt
// and imitates the protocols of the real programs. It is for tests, for demonstrations,
// and for a first run without an API key. It can also imitate the failures of the real
// programs.
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
	w := &world{in: bufio.NewReaderSize(in, 64<<10), out: out, err: errw, stopped: make(chan struct{}), cut: make(chan struct{})}
	defer w.close()
	code, err := run(o, w)
	if err != nil {
		fmt.Fprintf(errw, "fake-agent: %v\n", err)
		return 1
	}
	return code
}

// run reads the prompt, executes its steps and reports the result. Protocols that take
// messages have a turn for each message that arrives after a result.
func run(o options, w *world) (int, error) {
	v := newVoice(o, w)
	prompt, err := v.begin()
	if err != nil {
		return 1, err
	}
	a := &actor{world: w, voice: v, attempt: attemptNumber(), result: answerTo(prompt), usage: usage{input: 100 + len(prompt)/4, output: 10}}
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
		a.result, lines, err = answerTo(message), script(message), nil
	}
}

// turn executes steps, and those of messages that it takes between them.
func (a *actor) turn(lines []string) error {
	for {
		for _, message := range a.voice.taken() {
			a.result = answerTo(message)
			lines = append(lines, script(message)...)
		}
		if len(lines) == 0 {
			if a.voice.complete() {
				return nil
			}
			continue // another message has arrived
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

// ending is an error that ends the script. With a fault the work has failed. Without
// one the program just exits.
type ending struct {
	code  int
	fault *fault
}

func (ending) Error() string { return "the script has ended" }

// end prints the final message of a turn. over says that the program exits at once.
func (a *actor) end(err error) (code int, over bool) {
	var e ending
	switch {
	case a.isCut() && !errors.As(err, &e):
		return a.voice.interrupted(a.usage), false
	case errors.As(err, &e) && e.fault == nil:
		return e.code, true
	case errors.As(err, &e):
		return a.voice.failed(*e.fault, a.usage), false
	case err != nil && !errors.Is(err, errFinished):
		// A step that cannot be executed must be visible.
		return a.voice.failed(fault{text: err.Error()}, a.usage), false
	}
	a.voice.done(a.result, a.usage)
	if a.hangs {
		a.hang()
	}
	return 0, false
}

// answerTo returns the answer to a prompt without steps.
func answerTo(prompt string) string {
	for line := range strings.Lines(prompt) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, mark) {
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

// world holds the program's input and output. It is safe for concurrent writes.
type world struct {
	in *bufio.Reader

	mu       sync.Mutex
	out, err io.Writer

	stop    sync.Once
	stopped chan struct{} // closed when a signal asks the program to finish
	cut     chan struct{} // closed when the user ends the turn; replaced for the next one
	release []func()
}

func (w *world) close() {
	for _, f := range w.release {
		f()
	}
}

func (w *world) line(text string) { w.write([]byte(text + "\n")) }

// write ignores errors: if the reader is gone, the agent continues.
func (w *world) write(data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.out.Write(data)
}

func (w *world) complain(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintln(w.err, text)
}

// isStopped reports whether a signal or the user asks the agent to finish.
func (w *world) isStopped() bool {
	select {
	case <-w.stopped:
		return true
	default:
		return w.isCut()
	}
}

// cutting returns a channel that is closed when the user ends the current turn.
func (w *world) cutting() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut
}

func (w *world) isCut() bool {
	select {
	case <-w.cutting():
		return true
	default:
		return false
	}
}

// cutTurn ends the current turn.
func (w *world) cutTurn() {
	if !w.isCut() {
		w.mu.Lock()
		close(w.cut)
		w.mu.Unlock()
	}
}

func (w *world) newTurn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = make(chan struct{})
}

// sleep returns early if a signal or the user asks the agent to finish.
func (w *world) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.stopped:
	case <-w.cutting():
	}
}

// hang waits silently until a signal or the user asks the agent to finish, or it is
// killed.
func (w *world) hang() {
	for !w.isStopped() {
		w.sleep(time.Hour)
	}
}
