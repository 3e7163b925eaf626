package terminal

import (
	"unicode"
	"unicode/utf8"
)

// KeyKind is the kind of a [Key].
type KeyKind int

// The kinds of keys. Keys of other kinds are ignored.
const (
	Rune KeyKind = iota + 1
	Enter
	Backspace
	Clear     // Escape or Ctrl-U
	Next      // Tab
	Interrupt // Ctrl-C
)

// Key is a key that the user pressed.
type Key struct {
	Kind KeyKind
	Rune rune
}

// DecodeKeys returns the keys in the input of a terminal. If data ends in the middle of a UTF-8
// character, incomplete holds the bytes of that character; the caller must put them in front of the
// next input. Otherwise incomplete is empty.
func DecodeKeys(data []byte) (keys []Key, incomplete []byte) {
	for len(data) > 0 {
		switch b := data[0]; {
		case b == 0x1b:
			n := sequence(data)
			if n == 1 {
				keys = append(keys, Key{Kind: Clear})
			}
			data = data[n:]
		case b < 0x20 || b == 0x7f:
			if kind, ok := controls[b]; ok {
				keys = append(keys, Key{Kind: kind})
			}
			data = data[1:]
		case !utf8.FullRune(data):
			return keys, data
		default:
			r, size := utf8.DecodeRune(data)
			if unicode.IsPrint(r) && r != utf8.RuneError {
				keys = append(keys, Key{Rune, r})
			}
			data = data[size:]
		}
	}
	return keys, nil
}

var controls = map[byte]KeyKind{
	0x03: Interrupt,
	0x08: Backspace,
	0x7f: Backspace,
	'\t': Next,
	'\r': Enter,
	'\n': Enter,
	0x15: Clear,
}

// sequence returns the length of the escape sequence at the start of data, in bytes. If the
// sequence is incomplete, it returns the length of data: terminals send a sequence in one piece, so
// its end will not follow.
func sequence(data []byte) int {
	if len(data) == 1 || data[1] < 0x20 {
		return 1
	}
	if data[1] != '[' && data[1] != 'O' {
		return 2 // for Alt with a key, terminals send Escape and the character
	}
	for i := 2; i < len(data); i++ {
		if data[i] >= 0x40 && data[i] <= 0x7e {
			return i + 1
		}
	}
	return len(data)
}
