package terminal

import (
	"bytes"
	"fmt"
	"io"
)

// Screen remembers which rows the terminal shows, so that it writes only changed rows.
type Screen struct {
	out   io.Writer
	shown []string
	frame bytes.Buffer
}

// NewScreen returns a screen that has drawn nothing yet.
func NewScreen(out io.Writer) *Screen { return &Screen{out: out} }

// Screen returns a new [Screen] that draws on the terminal.
func (t *Terminal) Screen() *Screen { return NewScreen(t.out) }

// Escape sequences that erase the whole screen, or the line that contains the cursor.
const (
	EraseScreen = "\x1b[2J"
	EraseLine   = "\x1b[2K" // must be written before the text of a row, because it erases the whole line
)

// Draw shows the rows on the terminal, the first row at the top. It writes only rows that have
// changed, in one write.
func (s *Screen) Draw(rows []string) error {
	s.frame.Reset()
	for i := range max(len(rows), len(s.shown)) {
		row := ""
		if i < len(rows) {
			row = rows[i]
		}
		if i < len(s.shown) && s.shown[i] == row {
			continue
		}
		fmt.Fprintf(&s.frame, "\x1b[%d;1H%s%s", i+1, EraseLine, row)
	}
	s.shown = rows
	if s.frame.Len() == 0 {
		return nil
	}
	_, err := s.out.Write(s.frame.Bytes())
	return err
}

// Clear clears the terminal, so that the next Draw writes all rows. Call it if the size has changed
// or another program has written to the terminal.
func (s *Screen) Clear() error {
	s.shown = nil
	_, err := io.WriteString(s.out, EraseScreen)
	return err
}
