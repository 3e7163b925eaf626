package watch

import "strings"

// listHere returns the list of the current location, and false if it has none.
func (m Model) listHere() (list, bool) {
	switch m.here().screen {
	case fleetScreen:
		return m.fleetList(m.width), true
	case runScreen:
		return m.runList(m.width), true
	}
	return list{}, false
}

// chosen returns the kind and the id of the chosen row.
func (m Model) chosen() (kind, id string) {
	l, ok := m.listHere()
	at := l.at(*m.here())
	if !ok || at < 0 {
		return "", ""
	}
	kind, id, _ = strings.Cut(l.keys[at], " ")
	return kind + " ", id
}

// move handles a navigation key in a list or in a log.
func (m Model) move(key string) Model {
	page := max(m.room()-2, 1)
	l, ok := m.listHere()
	if !ok {
		return m.scroll(key, page)
	}
	p := m.here()
	at := l.at(*p)
	if at < 0 {
		return m
	}
	switch key {
	case "up", "k":
		at = l.step(at, -1)
	case "down", "j":
		at = l.step(at, +1)
	case "pgup", "ctrl+b":
		at = l.jump(at, -page)
	case "pgdown", "ctrl+f", "space":
		at = l.jump(at, +page)
	case "home", "g":
		at = l.step(-1, +1)
	case "end", "G":
		at = l.step(len(l.keys), -1)
	case "tab":
		at = l.section(at, +1)
	case "shift+tab":
		at = l.section(at, -1)
	default:
		return m
	}
	p.cursor, p.at = l.keys[at], at
	return m
}

// jump moves by many rows at once.
func (l list) jump(from, by int) int {
	to := min(max(from+by, 0), len(l.keys)-1)
	if l.keys[to] != "" {
		return to
	}
	if next := l.step(to, +1); next != to {
		return next
	}
	return l.step(to, -1)
}

// scroll moves through a log. Scrolling back stops following the log; scrolling to
// its end follows it again.
func (m Model) scroll(key string, page int) Model {
	p := m.here()
	switch key {
	case "up", "k":
		p.back++
	case "down", "j":
		p.back--
	case "pgup", "ctrl+b":
		p.back += page
	case "pgdown", "ctrl+f", "space":
		p.back -= page
	case "home", "g":
		p.back = len(m.log.lines)
	case "end", "G":
		p.back, p.sideways = 0, 0
	case "right":
		p.sideways += m.width / 2
	case "left":
		p.sideways -= m.width / 2
	}
	p.back, p.sideways = max(p.back, 0), max(p.sideways, 0)
	return m
}

// settle keeps the cursor and the scroll positions valid after a change.
func (m Model) settle() Model {
	p := m.here()
	if l, ok := m.listHere(); ok {
		if at := l.at(*p); at >= 0 && p.cursor != "" {
			p.cursor, p.at = l.keys[at], at
		}
		p.top = l.top(*p, m.room())
	}
	if p.screen == taskScreen {
		p.back = min(p.back, max(len(m.shown())-m.logRoom(), 0))
	}
	return m
}
