package terminal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeReadsTheKeysThatATerminalSends(t *testing.T) {
	r := func(r rune) Key { return Key{Rune, r} }
	for sent, want := range map[string][]Key{
		"a":                {r('a')},
		"é日":               {r('é'), r('日')},
		"\x1b":             {{Kind: Clear}},
		"\x1b[A\x1bOPx":    {r('x')},
		"\x1b[1;5Cx":       {r('x')},
		"\x1bfx":           {r('x')},
		"\x1b\x03":         {{Kind: Clear}, {Kind: Interrupt}},
		"\x1b\x1b":         {{Kind: Clear}, {Kind: Clear}},
		"\x00\x01\x1a\xff": nil,
		"\r\n\t\x15\x08":   {{Kind: Enter}, {Kind: Enter}, {Kind: Next}, {Kind: Clear}, {Kind: Backspace}},
		"\u202e":           nil,
	} {
		got, rest := DecodeKeys([]byte(sent))
		if diff := cmp.Diff(want, got); diff != "" || len(rest) > 0 {
			t.Errorf("%q: rest %q (-want +got)\n%s", sent, rest, diff)
		}
	}
	// The bytes of a character may arrive in two pieces.
	keys, rest := DecodeKeys([]byte("a\xc3"))
	again, _ := DecodeKeys(append(rest, 0xa9))
	if diff := cmp.Diff([]Key{r('a'), r('é')}, append(keys, again...)); diff != "" {
		t.Error(diff)
	}
}
