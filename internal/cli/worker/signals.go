package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/connect/workerclient"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// runWithSignals runs a worker and handles signals. It replaces the signal handler that gaffer
// installs for every command, because that handler would end the process at the second signal.
func runWithSignals(ctx context.Context, s *app.ServerWorker, shown *lines) error {
	heard := make(chan os.Signal, 4)
	wanted := []os.Signal{os.Interrupt, syscall.SIGTERM}
	signal.Reset(wanted...)
	signal.Notify(heard, wanted...)
	defer signal.Stop(heard)

	working, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(working) }()
	// A signal may have come before this function was called. Gaffer's usual signal handler has
	// then cancelled ctx. Count that signal, too.
	before := ctx.Done()
	for n := 0; ; {
		select {
		case err := <-ended:
			return endError(err, s)
		case <-heard:
		case <-before:
			before = nil
		}
		n++
		handleSignal(n, s, shown, leave)
	}
}

// handleSignal reacts to the n-th signal. After the first signal, the worker claims no more tasks.
// The second signal ends the worker's attempts and returns their tasks to the queue. A further
// signal ends this process and leaves the tasks running.
func handleSignal(n int, s *app.ServerWorker, shown *lines, leave func()) {
	held := s.HeldTasks()
	switch n {
	case 1:
		s.Drain()
		if len(held) > 0 {
			shown.notice("takes no more, and waits for %s: %s; the next signal hands them back", phrase.Count(len(held), "task"), strings.Join(held, ", "))
		}
	case 2:
		s.Release()
		shown.notice("stops and hands back %s; the next signal leaves them running", phrase.Count(len(held), "task"))
	default:
		leave()
	}
}

// endError returns the error with which 'gaffer worker' ends. The parameter err is the result of
// the method Run of the worker. If the third signal ended the worker, the returned error names the
// tasks that are still running.
func endError(err error, s *app.ServerWorker) error {
	if err == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	held := s.HeldTasks()
	if len(held) == 0 {
		return exit.Interrupted(errors.New("nothing is left running"))
	}
	return exit.Interrupted(fmt.Errorf("%s left running: %s", phrase.Count(len(held), "task"), strings.Join(held, ", ")))
}

// lines prints the events of a worker, one per line, as text or as JSON.
type lines struct {
	env  *env.Env
	json bool
	mu   sync.Mutex
}

// notice prints a notice about the worker.
func (l *lines) notice(format string, args ...any) {
	l.printEvent(workerclient.Event{Time: l.env.Now(), Kind: "notice", Text: fmt.Sprintf(format, args...)})
}

// printEvent prints an event. It ignores errors, so that the worker continues even if its terminal
// was closed.
func (l *lines) printEvent(e workerclient.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.json {
		text, err := json.Marshal(e)
		if err == nil {
			_ = l.env.Printf("%s\n", text)
		}
		return
	}
	_ = l.env.Printf("%s %s\n", e.Time.Local().Format(time.TimeOnly), eventText(e))
}

// eventText returns the text of an event, without its time.
func eventText(e workerclient.Event) string {
	task := display.Printable(e.Run + "/" + e.Task)
	text := phrase.Line(e.Text)
	switch e.Kind {
	case "started":
		return task + again(" started", e.Number)
	case "adopted":
		return task + again(" goes on", e.Number)
	case "ended":
		return task + " " + outcomeText(e) + colon(text)
	case "gone":
		return task + " is not this worker's any more" + colon(text)
	case "released":
		return task + " was handed back"
	case "asked":
		return fmt.Sprintf("%s asks%s ('gaffer answer %s')", task, colon(text), display.Printable(fleet.QuestionName(e.Run, e.Task)))
	case "away":
		return "the coordinator is away" + colon(text) + "; it is asked again and again; what runs goes on until its lease is over, and then stands still"
	case "back":
		return "the coordinator is back " + text
	}
	return text
}

func again(what string, number int) string {
	if number > 1 {
		return fmt.Sprintf("%s, attempt %d", what, number)
	}
	return what
}

// outcomeText returns a text such as "is complete": the state of a task after an attempt has ended.
func outcomeText(e workerclient.Event) string {
	class := display.Printable(e.Class)
	switch {
	case e.Class == "":
		return "is complete"
	case e.Status == "queued":
		return "did not succeed (" + class + ") and will be tried again"
	}
	return "is " + display.Printable(e.Status) + " (" + class + ")"
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
