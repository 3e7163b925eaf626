// Package terminalview shows the terminals of agents to clients that have no terminal themselves,
// such as pages in browsers. A view shows one terminal to one client. Many clients may watch a
// terminal. At most one of them at a time has the keyboard, which means that it can type.
//
// Each view has a tmux client of its own, which is read-only unless the view has the keyboard. All
// views of a terminal have the same size: that of the view with the keyboard or, if none has it,
// that of the view that reported its size last. But if the user has attached another terminal, with
// 'gaffer attach', all views have the size of the session's window, so that a view never changes
// what the user sees there.
package terminalview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/tmux"
	"gaffer/internal/pause"
	"gaffer/internal/text/truncate"
)

// Request describes the terminal that a [View] shows to a client.
type Request struct {
	Server  *tmux.Server
	Session string
	// Task returns the current state of the task whose agent runs in the terminal.
	Task func(ctx context.Context) (fleet.Task, error)
	User string // name of the user, which other users see
	Size fleet.TerminalSize
}

// Views holds all open views. It is safe for concurrent use.
type Views struct {
	mu     sync.Mutex
	shared map[string]*shared // the key is the id of the terminal
	open   int
}

// shared is the state that all views of one terminal share. The mutex of [Views] protects it.
type shared struct {
	id       string
	views    []*View // in the order in which they last reported their sizes
	typist   *View   // the view that has the keyboard; nil if none has
	fixed    fleet.TerminalSize
	measured time.Time // when the views last checked whether the user has attached another terminal
}

// size returns the size that all views of the terminal have. The field fixed is the size of the
// session's window while the user has attached another terminal, and zero otherwise.
func (s *shared) size() fleet.TerminalSize {
	switch {
	case s.fixed != (fleet.TerminalSize{}):
		return s.fixed
	case s.typist != nil:
		return s.typist.wanted
	}
	return s.views[len(s.views)-1].wanted
}

// notify tells every view of the terminal that the size of the views, or the view that has the
// keyboard, may have changed.
func (s *shared) notify() {
	for _, v := range s.views {
		select {
		case v.changed <- struct{}{}:
		default: // the view already has a pending notification
		}
	}
}

// maxOpen is the maximum number of open views. Each view runs a tmux process.
const maxOpen = 64

// TooManyError reports that too many views are open.
type TooManyError struct{}

func (*TooManyError) Error() string {
	return fmt.Sprintf("%d terminals are open already: close one of them", maxOpen)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (*TooManyError) Conflict() bool { return true }

// Code returns the error code that clients get.
func (*TooManyError) Code() string { return "too_many_terminals" }

// View shows a terminal to one client.
type View struct {
	all     *Views
	request Request
	shared  *shared
	changed chan struct{}
	wanted  fleet.TerminalSize // the size that the client has asked for; protected by Views.mu

	mu     sync.Mutex
	client *tmux.Client // the tmux client that receives keys; nil while the view cannot type
}

// Limits of the size of a view, in characters.
const (
	minColumns, maxColumns = 20, 500
	minRows, maxRows       = 5, 200
)

func limited(s fleet.TerminalSize) fleet.TerminalSize {
	return fleet.TerminalSize{Columns: min(max(s.Columns, minColumns), maxColumns), Rows: min(max(s.Rows, minRows), maxRows)}
}

// Open opens a view of a terminal. The caller must call [View.Run], which closes the view when it
// returns. If too many views are open, Open returns a [*TooManyError].
func (a *Views) Open(r Request) (*View, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open >= maxOpen {
		return nil, &TooManyError{}
	}
	a.open++
	id := r.Server.Socket() + "\n" + r.Session
	if a.shared == nil {
		a.shared = map[string]*shared{}
	}
	if a.shared[id] == nil {
		a.shared[id] = &shared{id: id}
	}
	v := &View{all: a, request: r, shared: a.shared[id], changed: make(chan struct{}, 1), wanted: limited(r.Size)}
	v.shared.views = append(v.shared.views, v)
	v.shared.notify()
	return v, nil
}

func (v *View) leave() {
	v.all.mu.Lock()
	defer v.all.mu.Unlock()
	v.all.open--
	v.remove()
	if v.shared.typist == v {
		v.shared.typist = nil
	}
	if len(v.shared.views) == 0 {
		delete(v.all.shared, v.shared.id)
	}
	v.shared.notify()
}

func (v *View) remove() {
	for i, other := range v.shared.views {
		if other == v {
			v.shared.views = append(v.shared.views[:i:i], v.shared.views[i+1:]...)
			return
		}
	}
}

// Resize sets the size that the client asks for. [View.Run] reports the size that the view gets.
func (v *View) Resize(size fleet.TerminalSize) {
	v.all.mu.Lock()
	defer v.all.mu.Unlock()
	v.wanted = limited(size)
	v.remove()
	v.shared.views = append(v.shared.views, v)
	v.shared.notify()
}

// TakeKeyboard gives this view the keyboard. The view that had it becomes read-only. The client
// should wait until [View.Run] reports a state with Mine set, because keys that the client sends
// earlier may be lost.
func (v *View) TakeKeyboard() {
	v.all.mu.Lock()
	defer v.all.mu.Unlock()
	v.shared.typist = v
	v.shared.notify()
}

// ReleaseKeyboard makes this view read-only again, if it has the keyboard.
func (v *View) ReleaseKeyboard() {
	v.all.mu.Lock()
	defer v.all.mu.Unlock()
	if v.shared.typist == v {
		v.shared.typist = nil
		v.shared.notify()
	}
}

func (v *View) hasKeyboard() bool {
	v.all.mu.Lock()
	defer v.all.mu.Unlock()
	return v.shared.typist == v
}

// Type sends keys to the terminal. If the view does not have the keyboard, Type drops the keys.
func (v *View) Type(keys []byte) {
	if !v.hasKeyboard() {
		return
	}
	v.mu.Lock()
	client := v.client
	v.mu.Unlock()
	if client != nil {
		_, _ = client.Write(keys) // ignore the error: Run notices when the client has ended
	}
}

func (v *View) setClient(c *tmux.Client) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.client = c
}

const (
	// lookEvery is the interval between reads of the task while no terminal is shown.
	lookEvery = 500 * time.Millisecond
	// measureEvery is the interval between checks whether the user has attached other terminals.
	measureEvery = time.Second
	// startWithin is how long an attempt may take to open its terminal. A tmux client that ends
	// within this time after its start counts as a failure, see maxFailures.
	startWithin = 5 * time.Second
	// readSize is the maximum number of bytes of terminal output that a client gets at once.
	readSize = 32 << 10
	// maxFailures is how many failures in a row make [View.Run] return a [*DetachedError]. A
	// failure is a read-only tmux client that ends within startWithin although its session still
	// exists.
	maxFailures = 3
)

// DetachedError reports that tmux could not show an existing session.
type DetachedError struct{ Session, Said string }

func (e *DetachedError) Error() string {
	return fmt.Sprintf("tmux does not show session %s: its client ends at once and says %q", e.Session, e.Said)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (*DetachedError) Conflict() bool { return true }

// Code returns the error code that clients get.
func (*DetachedError) Code() string { return "no_terminal" }

// Run shows the terminal until the task has ended or ctx ends. It calls the function output with
// the bytes that draw the terminal's screen, and the function state whenever the view's state
// changes, but never both at the same time. While output blocks, tmux drops output, and draws the
// whole screen again later. Run may be called only once.
func (v *View) Run(ctx context.Context, output func([]byte) error, state func(fleet.TerminalState) error) error {
	r := &running{View: v, output: output, state: state}
	defer v.leave()
	for {
		task, err := v.request.Task(ctx)
		if err != nil {
			return err
		}
		attached, err := r.show(ctx, task)
		switch {
		case err != nil:
			return err
		case task.Status.Final():
			return nil
		case !attached:
			if err := r.wait(ctx); err != nil {
				return err
			}
		}
	}
}

// running is the state of [View.Run].
type running struct {
	*View
	output func([]byte) error
	state  func(fleet.TerminalState) error

	now      fleet.TerminalState
	reported bool
	shown    int    // number of the last attempt whose terminal was shown
	said     string // the first output of the last tmux client
	failures int    // number of failed tmux clients in a row, see maxFailures
}

// wait waits for lookEvery, after which it is time to read the task again. Meanwhile it reports
// each change of the size of the views, or of the user who has the keyboard.
func (r *running) wait(ctx context.Context) error {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-r.changed:
			if err := r.report(r.now); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// report calls the function r.state with the state s, unless nothing has changed since the last
// report. It first sets the fields of s that depend on all views of the terminal: the size, and who
// has the keyboard.
func (r *running) report(s fleet.TerminalState) error {
	r.all.mu.Lock()
	s.TerminalSize, s.Typist = r.shared.size(), ""
	if r.shared.typist != nil {
		s.Typist = r.shared.typist.request.User
	}
	s.Mine = s.Mine && r.shared.typist == r.View
	r.all.mu.Unlock()
	if r.reported && s == r.now {
		return nil
	}
	r.now, r.reported = s, true
	return r.state(s)
}

// show shows the terminal of a task as long as the terminal exists. The result attached is false if
// the task has no terminal at present.
func (r *running) show(ctx context.Context, task fleet.Task) (attached bool, err error) {
	s := r.now
	s.Status, s.Mine = task.Status, false
	var started time.Time
	if a := task.Attempt; a != nil {
		started = a.Started
		s.Attempt, s.Class, s.Exit, s.Summary = a.Number, a.Class, a.Exit, a.Summary
	}
	if task.Status == fleet.Running {
		exists, err := r.request.Server.Has(ctx, r.request.Session)
		if err != nil {
			return false, err
		}
		if exists {
			s.Phase = fleet.TerminalLive
			r.shown = s.Attempt
			return true, r.attach(ctx, s)
		}
	}
	switch {
	case task.Status.Final():
		s.Phase = fleet.TerminalEnded
	case task.Status == fleet.Running && (r.shown == s.Attempt || time.Since(started) > startWithin):
		s.Phase = fleet.TerminalClosed
	default:
		s.Phase = fleet.TerminalWaiting
	}
	return false, r.report(s)
}

// attach shows the session until the session ends. When this view gets or loses the keyboard, or
// the user has detached the tmux client, attach starts another tmux client.
func (r *running) attach(ctx context.Context, s fleet.TerminalState) error {
	for {
		typing := r.hasKeyboard()
		s.Screen++
		s.Mine = false
		if err := r.report(s); err != nil {
			return err
		}
		client, err := r.request.Server.AttachClient(ctx, r.request.Session, !typing, tmux.Size(r.now.TerminalSize))
		if errors.As(err, new(*tmux.NotFoundError)) {
			return nil
		}
		if err != nil {
			return err
		}
		began := time.Now()
		s, err = r.pump(ctx, client, s, typing)
		switch {
		case errors.Is(err, errReattach):
			continue
		case !errors.Is(err, io.EOF):
			return err
		}
		r.ReleaseKeyboard() // the agent has ended, or the user has detached with tmux's own key
		exists, err := r.request.Server.Has(ctx, r.request.Session)
		if err != nil || !exists {
			return err
		}
		if typing || time.Since(began) > startWithin {
			r.failures = 0
		} else if r.failures++; r.failures == maxFailures {
			return &DetachedError{r.request.Session, r.said}
		}
		if pause.For(ctx, lookEvery); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// errReattach is returned by [running.pump] if the view got or lost the keyboard. Then attach
// starts another tmux client, because a [tmux.Client] stays read-only or writable while it runs.
var errReattach = errors.New("attach again")

// pump passes the output of a tmux client to the function r.output. It returns [io.EOF] when the
// client has ended, and errReattach when [running.attach] must replace the client.
func (r *running) pump(ctx context.Context, client *tmux.Client, s fleet.TerminalState, typing bool) (fleet.TerminalState, error) {
	var reader sync.WaitGroup
	chunks, stop := make(chan []byte), make(chan struct{})
	defer func() {
		r.setClient(nil)
		close(stop)
		client.Close()
		reader.Wait()
	}()
	reader.Go(func() { read(client, chunks, stop) })
	if typing {
		r.setClient(client)
	}
	measure := time.NewTicker(measureEvery)
	defer measure.Stop()
	for r.said = ""; ; {
		size := r.now.TerminalSize
		select {
		case chunk, ok := <-chunks:
			if !ok {
				return s, io.EOF
			}
			if r.said == "" {
				r.said = truncate.Bytes(string(chunk), 200)
			}
			s.Mine = typing // the first output shows that tmux now accepts keys
			if err := r.output(chunk); err != nil {
				return s, err
			}
		case <-r.changed:
		case <-measure.C:
			r.measure(ctx)
		case <-ctx.Done():
			return s, context.Cause(ctx)
		}
		if r.hasKeyboard() != typing {
			return s, errReattach
		}
		if err := r.report(s); err != nil {
			return s, err
		}
		if r.now.TerminalSize != size {
			if err := client.Resize(tmux.Size(r.now.TerminalSize)); err != nil {
				return s, err
			}
		}
	}
}

// read sends the output of a tmux client to the channel chunks, and closes the channel at the end
// of the output. It uses two buffers in turn: when the receiver takes a chunk, it must no longer
// use the previous one.
func read(client *tmux.Client, chunks chan<- []byte, stop <-chan struct{}) {
	defer close(chunks)
	buffers := [2][]byte{make([]byte, readSize), make([]byte, readSize)}
	for i := 0; ; i = 1 - i {
		n, err := client.Read(buffers[i])
		if err != nil {
			return
		}
		select {
		case chunks <- buffers[i][:n]:
		case <-stop:
			return
		}
	}
}

// measure finds out whether the user has attached another terminal to the tmux server. If so, all
// views get the size of the session's window. measure ignores errors, because [View.Run] notices
// the end of the session in another way.
func (r *running) measure(ctx context.Context) {
	r.all.mu.Lock()
	due := time.Since(r.shared.measured) >= measureEvery/2 // another view of this terminal may have checked just before
	if due {
		r.shared.measured = time.Now()
	}
	r.all.mu.Unlock()
	if !due {
		return
	}
	size, shared, err := r.request.Server.Window(ctx, r.request.Session)
	if err != nil {
		return
	}
	if !shared {
		size = tmux.Size{}
	}
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	if fixed := fleet.TerminalSize(size); fixed != r.shared.fixed {
		r.shared.fixed = fixed
		r.shared.notify()
	}
}
