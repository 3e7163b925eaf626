// Package fake is an agent program that does what its prompt says, line by line,
// and speaks like the real ones: for tests, for demonstrations, and for a first
// run without a key. It can also do all that the real ones do wrong.
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
	w := &world{in: bufio.NewReaderSize(in, 64<<10), out: out, err: errw, stopped: make(chan struct{})}
	defer w.close()
	code, err := run(o, w)
	if err != nil {
		fmt.Fprintf(errw, "fake-agent: %v\n", err)
		return 1
	}
	return code
}

// run hears the prompt, does its steps and says what came of them.
func run(o options, w *world) (int, error) {
	v := newVoice(o, w)
	prompt, err := v.begin()
	if err != nil {
		return 1, err
	}
	a := &actor{world: w, voice: v, attempt: attemptNumber(), result: answerTo(prompt), usage: usage{input: 100 + len(prompt)/4, output: 10}}
	lines, err := o.steps(prompt)
	if err != nil {
		return a.end(err)
	}
	for _, line := range lines {
		if err := a.do(line); err != nil {
			return a.end(err)
		}
		if w.isStopped() {
			break
		}
	}
	return a.end(nil)
}

// ending is an error that ends the script: the work failed, or, without a fault,
// the program exits in the middle of it.
type ending struct {
	code  int
	fault *fault
}

func (ending) Error() string { return "the script has ended" }

// end says the last word and takes leave, as the protocol does it.
func (a *actor) end(err error) (int, error) {
	var e ending
	switch {
	case errors.As(err, &e) && e.fault == nil:
		return e.code, nil
	case errors.As(err, &e):
		code := a.voice.failed(*e.fault, a.usage)
		a.voice.leave()
		return code, nil
	case err != nil && !errors.Is(err, errFinished):
		// A step that cannot be done must be seen.
		code := a.voice.failed(fault{text: err.Error()}, a.usage)
		a.voice.leave()
		return code, nil
	}
	a.voice.done(a.result, a.usage)
	if a.hangs {
		a.hang()
	}
	a.voice.leave()
	return 0, nil
}

// answerTo is what the agent says to a prompt that has no steps.
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

// world is what the program touches. Several may write at once.
type world struct {
	in *bufio.Reader

	mu       sync.Mutex
	out, err io.Writer

	stop    sync.Once
	stopped chan struct{} // closed when a signal was taken as a wish to finish
	release []func()
}

func (w *world) close() {
	for _, f := range w.release {
		f()
	}
}

func (w *world) line(text string) { w.write([]byte(text + "\n")) }

// write ignores errors: nobody listens any more, and the agent goes on.
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

func (w *world) isStopped() bool {
	select {
	case <-w.stopped:
		return true
	default:
		return false
	}
}

// sleep returns early if the program is told to finish.
func (w *world) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.stopped:
	}
}

// hang waits without a word until the program is told to finish, or is killed.
func (w *world) hang() {
	for !w.isStopped() {
		w.sleep(time.Hour)
	}
}
