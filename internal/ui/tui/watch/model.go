package watch

import (
	"slices"
	"time"

	"gaffer/fleet"
)

// screen is the kind of a location.
type screen int

const (
	fleetScreen screen = iota
	runScreen
	taskScreen
	questionScreen
)

// location is a place in the screen's navigation: the current one, or one to go back
// to.
type location struct {
	screen              screen
	run, task, question string

	cursor string // key of the chosen row; empty means the first row
	at     int    // its index, used if the row disappears
	top    int    // the first visible row
	filter string

	full     bool // the log fills the whole screen
	back     int  // number of lines scrolled back from the end of the log
	sideways int  // number of columns scrolled to the right
}

// mode decides what keys mean.
type mode int

const (
	browsing mode = iota
	filtering
	confirming
	helping
)

// Model is the state of the screen: the fleet as last read, and the user's navigation
// and input. It is a value: [Model.Take] returns a new one.
type Model struct {
	Where string // the server's address, or empty for this machine
	Color bool

	now           time.Time
	width, height int
	fleet         Fleet
	read          time.Time // when the fleet was last read
	away          Away
	run           fleet.Run
	waves         []int // stages of the run's tasks
	task          Task
	log           record

	stack   []location // never empty; the last one is shown
	mode    mode
	input   string // the text being typed: a filter or an answer
	sending string // id of the question whose answer is being sent
	confirm confirmation
	note    Said
	noted   time.Time
	looked  Look
}

// New returns a model that shows the fleet, or one of its runs.
func New(run string, now time.Time) Model {
	m := Model{now: now, stack: []location{{screen: fleetScreen}}}
	if run != "" {
		m.stack = append(m.stack, location{screen: runScreen, run: run})
	}
	return m
}

// noteTime is how long a note is shown.
const noteTime = 10 * time.Second

// Take processes an event: a size, the time, a key, data or the result of an action.
// It returns the new model and the actions to perform.
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

// see stores data that was read. It ignores data about a run or task that is no
// longer shown.
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

// silence is the time without new data after which the fleet counts as unreachable,
// even without an [Away] message.
const silence = 15 * time.Second

// gone returns since when the fleet is unreachable, and why.
func (m Model) gone() Away {
	if m.away.Since.IsZero() && !m.read.IsZero() && m.now.Sub(m.read) > silence {
		return Away{m.read, "no answer"}
	}
	return m.away
}

func (m Model) here() *location { return &m.stack[len(m.stack)-1] }

// enter opens another location.
func (m Model) enter(p location) Model {
	m.stack = append(m.stack, p)
	m.input = ""
	return m
}

// leave goes back to the previous location.
func (m Model) leave() Model {
	if len(m.stack) > 1 {
		m.stack = m.stack[:len(m.stack)-1]
	}
	m.input = ""
	return m
}

// look returns the run and task that must be read for the current location. A
// question is shown on top of another location, so that one still counts.
func (m Model) look() Look {
	for _, p := range slices.Backward(m.stack) {
		if p.screen == runScreen || p.screen == taskScreen {
			return Look{p.run, p.task}
		}
	}
	return Look{}
}

// turn drops the data of a run or task that is no longer shown.
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
