package env

import (
	"os"
	"strings"
	"testing"
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
	if IsTerminal(r) || IsTerminal(null) || IsTerminal(strings.NewReader("1")) {
		t.Error("taken for a terminal")
	}
}
