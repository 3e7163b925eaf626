package terminal

import (
	"errors"
	"os"
	"testing"
)

func TestAPipeIsNotATerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, in := range []*os.File{r, os.NewFile(^uintptr(0), "closed")} {
		if _, err := Open(in, w); !errors.Is(err, ErrNoTerminal) {
			t.Errorf("%v", err)
		}
	}
}
