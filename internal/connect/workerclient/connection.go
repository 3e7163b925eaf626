package workerclient

import (
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"gaffer/coordinator"
)

// Event tells the user about a change in a worker's tasks or in its connection.
type Event struct {
	Time time.Time `json:"time"`
	// Kind is one of these words:
	//   - joined: the coordinator has answered for the first time
	//   - away: the coordinator does not answer
	//   - back: the coordinator answers again
	//   - started: the worker has started a new attempt
	//   - adopted: the worker continues an attempt that an earlier worker process started
	//   - asked: the agent has asked the user a question
	//   - ended: the coordinator has accepted the worker's report that an attempt has ended
	//   - gone: the coordinator has refused such a report: the attempt is no longer this worker's
	//   - released: the worker has given the attempt back
	//   - notice: a message for the user, in Text
	Kind    string `json:"event"`
	Run     string `json:"run,omitempty"`
	Task    string `json:"task,omitempty"`
	Attempt string `json:"attempt,omitempty"`
	Number  int    `json:"number,omitempty"`

	Status   string `json:"status,omitempty"` // the task's status after the event
	Class    string `json:"class,omitempty"`  // failure class of the attempt
	Question string `json:"question,omitempty"`
	Text     string `json:"text,omitempty"`
}

// report adds the ids of the attempt, its run and its task to an event, and passes the event to the
// function Report in the options.
func (e *Engine) report(attempt string, what Event) {
	e.mu.Lock()
	h := e.held[attempt]
	e.mu.Unlock()
	what.Attempt, what.Run, what.Task = attempt, h.task.Run, h.task.Task
	e.opts.Report(what)
}

// DeniedError reports that the coordinator has refused the worker, and will refuse all further
// requests of the worker. The worker gets it from the channel that [Engine.Failed] returns.
type DeniedError struct{ Err *coordinator.Error }

func (e *DeniedError) Error() string { return "the coordinator refuses this worker: " + e.Err.Error() }

func (e *DeniedError) Unwrap() error { return e.Err }

// Hint returns what the user can do next.
func (e *DeniedError) Hint() string {
	switch {
	case e.Err.Code == "name_taken":
		return "give each worker a name of its own: --name NAME"
	case e.Err.Status == 401:
		return "the token is not known: 'gaffer token create --role worker --name NAME' on the coordinator makes one"
	case e.Err.Code == "limited":
		return "'gaffer token list' on the coordinator shows the limits; work for that project with those labels, or use another token"
	case e.Err.Status == 403:
		return "use a token of role worker, the same each time: a worker belongs to the first that spoke for it"
	case e.Err.Status == 404:
		return "is it a gaffer that has workers? 'gaffer version' tells"
	}
	return "'gaffer worker --help' says what a coordinator wants"
}

// stopsWorker reports whether e means that the coordinator will refuse all further requests of the
// worker.
func stopsWorker(e *coordinator.Error) bool {
	return e.Denied() || e.Code == "name_taken" || e.Status == 404 && e.Code == "not_found"
}

// UnreachableError reports that a request got no usable answer. The coordinator may have performed
// the request nevertheless. The type has no method Unwrap, so that callers treat all causes alike.
type UnreachableError struct{ Err error }

func (e *UnreachableError) Error() string { return e.Err.Error() }

// AlreadyReported tells the worker not to report this error, because the [Engine] has already
// reported the outage, or has sent an error to the channel of [Engine.Failed].
func (e *UnreachableError) AlreadyReported() bool { return true }

func codeOf(err error) string {
	if refused := (*coordinator.Error)(nil); errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// connection remembers whether the coordinator answers, and reports outages to the user.
type connection struct {
	opts   Options
	failed chan error // receives the first error after which no request can succeed

	mu           sync.Mutex
	answeredOnce bool      // the coordinator has answered at least once
	since        time.Time // start of the current outage; zero if the coordinator answers
}

func newConnection(opts Options) *connection {
	return &connection{opts: opts, failed: make(chan error, 1)}
}

// answered is called when the coordinator has answered. It reports the first answer, and the end of
// an outage.
func (l *connection) answered() {
	l.mu.Lock()
	since, met := l.since, l.answeredOnce
	l.since, l.answeredOnce = time.Time{}, true
	l.mu.Unlock()
	if !met {
		l.opts.Report(Event{Kind: "joined"})
	}
	if !since.IsZero() {
		l.opts.Report(Event{Kind: "back", Text: fmt.Sprintf("after %s", l.opts.Now().Sub(since).Round(time.Second))})
	}
}

// unanswered is called with the error of a request that got no valid answer. It reports the start
// of an outage. It stops the worker instead in two cases: the coordinator refuses the worker, or
// the coordinator has never answered and its certificate is not trusted.
func (l *connection) unanswered(err error) {
	var refused *coordinator.Error
	if errors.As(err, &refused) && stopsWorker(refused) {
		l.fail(&DeniedError{refused})
		return
	}
	l.mu.Lock()
	stranger := !l.answeredOnce && unverified(err)
	first := !stranger && l.since.IsZero()
	if first {
		l.since = l.opts.Now()
	}
	l.mu.Unlock()
	switch {
	case stranger:
		l.fail(&UntrustedError{err})
	case first:
		l.opts.Report(Event{Kind: "away", Text: err.Error()})
	}
}

// unverified reports whether err means that a certificate is not trusted.
func unverified(err error) bool {
	var wrong *tls.CertificateVerificationError
	var other interface{ Untrusted() bool }
	return errors.As(err, &wrong) || errors.As(err, &other) && other.Untrusted()
}

// UntrustedError reports that the coordinator's certificate is not trusted and the coordinator has
// never answered. The worker gets it from the channel that [Engine.Failed] returns. After the first
// answer, a wrong certificate counts only as an outage, because another machine may temporarily
// have the coordinator's address.
type UntrustedError struct{ Err error }

func (e *UntrustedError) Error() string { return "the coordinator is not trusted: " + e.Err.Error() }

func (e *UntrustedError) Unwrap() error { return e.Err }

// Hint returns what the user can do next.
func (e *UntrustedError) Hint() string {
	return "--fingerprint SHA-256 trusts the certificate that 'gaffer serve --tls' has made and prints, --ca FILE those of an authority"
}

// fail sends err to the channel of [Engine.Failed]. The worker must stop after such an error.
func (l *connection) fail(err error) {
	select {
	case l.failed <- err:
	default: // the channel already has an earlier error
	}
}

const (
	minBackoff = 200 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// backoff returns how long to wait after the n-th failure in a row. The wait grows with n. It is
// partly random, so that workers that failed at the same time do not retry at the same time. If the
// coordinator's refusal in err says how long to wait, the wait is at least that long. It is never
// longer than maxBackoff.
func (l *connection) backoff(n int, err error) time.Duration {
	most := min(minBackoff<<min(n-1, 10), maxBackoff)
	wait := most/2 + time.Duration(l.opts.Rand()*float64(most/2))
	if refused := (*coordinator.Error)(nil); errors.As(err, &refused) {
		wait = max(wait, min(refused.After, maxBackoff))
	}
	return wait
}
