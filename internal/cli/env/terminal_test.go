package env

import (
	"os"
	"strings"
	"testing"

	"gaffer/internal/text/display"
)

func TestAPipeIsNoTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if display.IsTerminal(r) || display.IsTerminal(null) || display.IsTerminal(strings.NewReader("1")) {
		t.Error("taken for a terminal")
	}
}
