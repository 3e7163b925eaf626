package teamstate

import "time"

// ending says whether and how a team's session has ended.
type ending struct {
	history  *history
	finished bool     // the session is complete
	problem  *Outcome // why the session ended with an error; nil if it did not
	at       time.Time
}

// stop ends the session with an error, unless it has already ended with an error.
func (e *ending) stop(problem, hint string) {
	if e.problem != nil {
		return
	}
	e.problem, e.at = &Outcome{Problem: clip(problem, maxText), Hint: hint}, e.history.updated
	e.history.note("stop_with_error", problem+". "+hint)
}

// ask ends the session with an error whose text is a question to the user.
func (e *ending) ask(question string) {
	e.stop(question, "'gaffer team resume' lets the team decide; 'gaffer team --new' begins anew, with the answer in the requirements")
}

// finish marks the session as complete.
func (e *ending) finish() {
	e.finished, e.at = true, e.history.updated
	e.history.note("complete_session", "the project manager says that all is done, and every group is complete and merged")
}

// reopen lets a session that ended with an error continue.
func (e *ending) reopen() { e.problem, e.at = nil, time.Time{} }
