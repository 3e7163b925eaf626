package watch

import (
	"slices"
	"time"

	"gaffer/fleet"
)

// screen is what a place shows.
type screen int

const (
	fleetScreen screen = iota
	runScreen
	taskScreen
	questionScreen
)

// location is somewhere a person is, or goes back to.
type location struct {
	screen              screen
	run, task, question string

	cursor string // the key of the row that is chosen; empty is the first
	at     int    // where it was, should it go away
	top    int    // the first row that is shown
	filter string

	full     bool // the log has the whole screen
	back     int  // how many lines of the log the person has gone back from its end
	sideways int  // how many columns
}

// mode is what keys mean.
type mode int

const (
	browsing mode = iota
	filtering
	confirming
	helping
)

// Model is all that is seen and all that the person is at. It is a value: whatever
// is taken makes another of it.
type Model struct {
	Where string // the server's address, or empty for this machine
	Color bool

	now           time.Time
	width, height int
	fleet         Fleet
	read          time.Time // when the fleet was read
	away          Away
	run           fleet.Run
	waves         []int // of the run's tasks
	task          Task
	log           record

	stack   []location // never empty; the last is shown
	mode    mode
	input   string // what is typed: a filter or an answer
	sending string // the question whose answer is under way
	confirm confirmation
	note    Said
	noted   time.Time
	looked  Look
}

// New is a model that shows the fleet, or a run of it.
func New(run string, now time.Time) Model {
	m := Model{now: now, stack: []location{{screen: fleetScreen}}}
	if run != "" {
		m.stack = append(m.stack, location{screen: runScreen, run: run})
	}
	return m
}

// noteTime is how long a person has for reading a note.
const noteTime = 10 * time.Second

// Take takes what has happened, and returns what is to be done about it.
func (m Model) Take(what any) (Model, []any) {
	m.stack = slices.Clone(m.stack)
	var do []any
	switch what := what.(type) {
	case Size:
		m.width, m.height = what.Width, what.Height
	case time.Time:
		m.now = what
		if what.Sub(m.noted) > noteTime {
			m.note = Said{}
		}
	case Key:
		m.note = Said{}
		m, do = m.press(what)
	case Said:
		m = m.said(what)
	default:
		m = m.see(what)
	}
	m = m.settle()
	if look := m.look(); look != m.looked {
		m = m.turn(look)
		do = append(do, look)
	}
	return m, do
}

// see takes in what was read. What is about something that is not looked at any
// more came late.
func (m Model) see(what any) Model {
	switch what := what.(type) {
	case Fleet:
		m.fleet, m.read = what, m.now
	case fleet.Run:
		if what.ID == m.looked.Run {
			m = m.seeRun(what)
		}
	case Task:
		if what.Run == m.looked.Run && what.ID == m.looked.Task {
			m.task = what
		}
	case Log:
		if what.Run == m.looked.Run && what.Task == m.looked.Task {
			m = m.seeLog(what)
		}
	case Away:
		m.away = what
	}
	return m
}

func (m Model) said(what Said) Model {
	m.note, m.noted = what, m.now
	if what.Question == "" || what.Question != m.sending {
		return m
	}
	m.sending = ""
	if p := m.here(); p.screen == questionScreen && p.question == what.Question && !what.Failed {
		m.input = ""
		m = m.leave()
	}
	return m
}

// silence is after how long a fleet that is not read again is taken for away,
// whatever is known about that.
const silence = 15 * time.Second

// gone is since when the fleet cannot be read, and why.
func (m Model) gone() Away {
	if m.away.Since.IsZero() && !m.read.IsZero() && m.now.Sub(m.read) > silence {
		return Away{m.read, "no answer"}
	}
	return m.away
}

func (m Model) here() *location { return &m.stack[len(m.stack)-1] }

// enter goes to another place.
func (m Model) enter(p location) Model {
	m.stack = append(m.stack, p)
	m.input = ""
	return m
}

// leave goes back to where the person came from.
func (m Model) leave() Model {
	if len(m.stack) > 1 {
		m.stack = m.stack[:len(m.stack)-1]
	}
	m.input = ""
	return m
}

// look is what has to be read for what is shown: a question is on top of what the
// person goes back to.
func (m Model) look() Look {
	for _, p := range slices.Backward(m.stack) {
		if p.screen == runScreen || p.screen == taskScreen {
			return Look{p.run, p.task}
		}
	}
	return Look{}
}

// turn forgets what is not looked at any more.
func (m Model) turn(to Look) Model {
	if to.Run != m.looked.Run {
		m.run, m.waves = fleet.Run{}, nil
	}
	if to != m.looked {
		m.task, m.log = Task{}, record{}
	}
	m.looked = to
	return m
}
