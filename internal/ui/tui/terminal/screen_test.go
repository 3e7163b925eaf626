package terminal

import (
	"bytes"
	"strings"
	"testing"
)

// After a row of full width, the cursor is still on the last cell, so erasing the rest of the line
// would erase that cell.
func TestNothingIsErasedAfterARowIsWritten(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(&out)
	if err := s.Draw([]string{strings.Repeat("x", 80), "short"}); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[1;1H\x1b[2K" + strings.Repeat("x", 80) + "\x1b[2;1H\x1b[2Kshort"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
}
