// Package logs implements the command 'gaffer logs': it prints what an agent has said
// and done.
package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/agentlog"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/text/safe"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/terminal"
)

// options holds the values of the command's flags.
type options struct {
	raw     bool
	follow  bool
	attempt int
	since   string
	lines   int // number of last lines to print; negative means all lines
}

// New creates the command 'gaffer logs'.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Aliases:               []string{"log"},
		Use:                   "logs TASK [-f] [-n N] [--attempt N] [--since WHEN] [--raw]",
		DisableFlagsInUseLine: true,
		Short:                 "Print what a task's agent said and did",
		Long: `Print what a task's agent said and did: its messages, its tools with the main part
of their input (→), their shortened results, errors (✗) and questions (?), with
times if the agent program reports them. Output of a program without such a
protocol is printed unchanged. If there are several attempts, each has a heading.

--raw prints the log as it was written, for example for jq. On a terminal, control
sequences are left out. --since shows only later entries; an entry without a time
belongs to the entry before it.`,
		Example: `  gaffer logs api
  gaffer logs api -f -n 20
  gaffer logs api --attempt 1 --since 10m
  gaffer logs abc1/api --raw | jq -r 'select(.type == "result").result'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.Tasks(e, func(t fleet.Task) bool { return t.Attempt != nil }),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.follow, "follow", "f", false, "go on until the task has ended, over all its attempts")
	flags.IntVarP(&o.lines, "lines", "n", -1, "begin with the last `N` lines")
	flags.IntVar(&o.lines, "tail", -1, "")
	flags.IntVar(&o.attempt, "attempt", 0, "only attempt `N`, from 1")
	flags.StringVar(&o.since, "since", "", "only what came since `WHEN`: 10m, 2h, 14:02 or 2026-02-11T09:00:00Z")
	flags.BoolVar(&o.raw, "raw", false, "print the log as it was written")
	flags.Lookup("tail").Hidden = true // an alias of --lines
	openfleet.FleetFlags(e, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, name := range []string{"lines", "tail"} {
			if flags.Changed(name) && o.lines < 0 {
				return exit.Usage(fmt.Errorf("--%s %d: want 0 or more", name, o.lines))
			}
		}
		if flags.Changed("attempt") && o.attempt < 1 {
			return exit.Usage(fmt.Errorf("--attempt %d: attempts are counted from 1", o.attempt))
		}
		since, err := env.Since(o.since, e.Now())
		if err != nil {
			return exit.Usage(err)
		}
		if o.raw && !since.IsZero() {
			return exit.Usage(errors.New("--since needs the times that --raw does not look at"))
		}
		return openfleet.WithFleet(cmd.Context(), e, func(f openfleet.Fleet) error { return logs(cmd.Context(), e, f, args[0], o, since) })
	}
	return cmd
}

func logs(ctx context.Context, e *env.Env, f openfleet.Fleet, name string, o options, since time.Time) error {
	t, err := f.FindTask(ctx, name)
	if err != nil {
		return err
	}
	t, err = waitForStart(ctx, f, t, o.follow)
	if err != nil {
		return err
	}
	out := e.Out
	if display.IsTerminal(e.Out) {
		shown := safe.New(e.Out)
		shown.Plain = !e.Color(e.Out)
		defer shown.End()
		out = shown
	}
	if o.raw {
		return f.Log(ctx, t, out, fleet.LogQuery{Attempt: o.attempt, Tail: o.lines, Follow: o.follow})
	}
	return printReadable(ctx, e, f, t, out, o, since)
}

// printReadable prints a log for users. It reads the whole log even if it prints only the last
// lines, because the number of lines is known only after formatting.
func printReadable(ctx context.Context, e *env.Env, f openfleet.Fleet, t fleet.Task, out io.Writer, o options, since time.Time) error {
	now := e.Now()
	last := &lastLines{to: out, n: o.lines}
	r := &reader{last: last}
	answers := &answers{load: func() []fleet.QuestionRecord {
		// Ignore the error: without the questions, the log is printed without the answers.
		list, _ := f.AllQuestions(ctx, t.Run)
		return slices.DeleteFunc(list, func(q fleet.QuestionRecord) bool { return q.Task != t.ID })
	}}
	r.Writer = agentlog.New(last, agentlog.Options{
		Zone: now.Location(), Since: since, Width: terminal.Columns(e.Out),
		Paint: func(s display.Style, text string) string { return e.Paint(e.Out, s, text) },
		Live: func() time.Time {
			if r.live {
				return e.Now()
			}
			return time.Time{}
		},
		Heading: func(n int) (string, time.Time) {
			// Ignore the error: without the attempts, the heading is only the attempt's number.
			attempts, _ := f.Attempts(ctx, t.Run, t.ID)
			line, began := heading(t, attempts, n, now)
			answers.began = began
			if o.attempt > 0 || n == 1 && len(attempts) == 1 {
				line = ""
			}
			return line, began
		},
		Outcome: answers.next,
	})
	err := f.Log(ctx, t, r, fleet.LogQuery{Attempt: o.attempt, Tail: -1, Follow: o.follow})
	if ended := errors.Join(r.End(), last.flush()); err == nil {
		err = ended
	}
	return err
}

// heading returns the line above the output of an attempt, and the attempt's start
// time.
func heading(t fleet.Task, attempts []fleet.Attempt, n int, now time.Time) (line string, began time.Time) {
	line = fmt.Sprintf("── attempt %d", n)
	for _, a := range attempts {
		if a.Number != n {
			continue
		}
		began = a.Started
		line += ", " + phrase.Clock(began, now)
		if using := phrase.Using(t, &a); using != "" {
			line += ", " + using
		}
		if a.Class != "" {
			line += ", " + display.Line(a.Class, 40)
		}
	}
	return line + " ──", began
}

// reader receives a task's log from a fleet and formats it for the user. If the log is followed,
// live becomes true when all existing output was written. From then on, all output is new.
type reader struct {
	*agentlog.Writer
	last *lastLines
	live bool
}

// CaughtUp is called by the fleet once the existing part of the log has been written.
func (r *reader) CaughtUp() error {
	r.live = true
	return r.last.flush()
}

// lastLines is a writer that keeps what is written until flush is called. flush passes on the last
// n of these lines and drops the others. What is written after flush is passed on at once. If n is
// negative, everything is passed on at once.
type lastLines struct {
	to      io.Writer
	n       int
	lines   []string
	rest    []byte
	flushed bool
}

func (l *lastLines) Write(p []byte) (int, error) {
	if l.flushed || l.n < 0 {
		return l.to.Write(p)
	}
	text := append(l.rest, p...)
	for {
		at := bytes.IndexByte(text, '\n')
		if at < 0 {
			break
		}
		if l.lines = append(l.lines, string(text[:at+1])); len(l.lines) > 2*l.n {
			l.lines = append(l.lines[:0], l.lines[len(l.lines)-l.n:]...)
		}
		text = text[at+1:]
	}
	l.rest = append(l.rest[:0], text...)
	return len(p), nil
}

func (l *lastLines) flush() error {
	if l.flushed || l.n < 0 {
		return nil
	}
	l.flushed = true
	text := strings.Join(l.lines[max(0, len(l.lines)-l.n):], "") + string(l.rest)
	_, err := io.WriteString(l.to, text)
	return err
}

// pollInterval is the interval between checks of a task that has not started.
const pollInterval = 200 * time.Millisecond

// waitForStart returns the current state of a task. If wait is true, it first waits until the task
// has started or ended. A task on this machine counts as started when the path of its log is known.
func waitForStart(ctx context.Context, f openfleet.Fleet, t fleet.Task, wait bool) (fleet.Task, error) {
	hasLog := func(t fleet.Task) bool { return t.Attempt != nil && (t.Attempt.Log != "" || f.Where() != "") }
	if hasLog(t) || !wait {
		return t, nil
	}
	err := f.Follow(ctx, t.Run, pollInterval, func(r fleet.Run) error {
		for _, now := range r.Tasks {
			if now.ID == t.ID {
				t = now
			}
		}
		if hasLog(t) || t.Status.Final() {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return t, err
}

// errFound is the error with which the callback of waitForStart stops Follow, because the task has
// started or ended.
var errFound = errors.New("found")
