package tui

import (
	"bytes"
	"fmt"
	"io"
)

// screen remembers what the terminal shows, so that only changed rows are written.
type screen struct {
	out   io.Writer
	shown []string
	frame bytes.Buffer
}

const (
	eraseScreen = "\x1b[2J"
	eraseLine   = "\x1b[2K" // before a row is written: after a row of full width the cursor stays on its last cell
)

// draw shows rows from the top, in one write.
func (s *screen) draw(rows []string) error {
	s.frame.Reset()
	for i := range max(len(rows), len(s.shown)) {
		row := ""
		if i < len(rows) {
			row = rows[i]
		}
		if i < len(s.shown) && s.shown[i] == row {
			continue
		}
		fmt.Fprintf(&s.frame, "\x1b[%d;1H%s%s", i+1, eraseLine, row)
	}
	s.shown = rows
	if s.frame.Len() == 0 {
		return nil
	}
	_, err := s.out.Write(s.frame.Bytes())
	return err
}

// forget clears the terminal and makes the next draw write everything, because the
// size has changed or another program has written.
func (s *screen) forget() error {
	s.shown = nil
	_, err := io.WriteString(s.out, eraseScreen)
	return err
}
