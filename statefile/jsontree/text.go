package jsontree

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// quote appends text to b as a JSON string, and returns b. It escapes the same characters as
// encoding/json does without HTML escaping. Bytes that are not UTF-8 become U+FFFD.
func quote(b []byte, text string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	from := 0 // start of the text that has not been appended yet
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
			if (r != utf8.RuneError || size > 1) && r != '\u2028' && r != '\u2029' {
				i += size
				continue
			}
		}
		b = append(b, text[from:i]...)
		i += size
		from = i
		if short := escapeLetter(c); short != 0 {
			b = append(b, '\\', short)
			continue
		}
		b = append(b, '\\', 'u', digits[r>>12&0xf], digits[r>>8&0xf], digits[r>>4&0xf], digits[r&0xf])
	}
	return append(append(b, text[from:]...), '"')
}

// escapes lists the bytes that have a one-letter escape, such as \n for a newline. It consists of
// pairs: the letter after the backslash, followed by the byte that the escape represents.
const escapes = "\"\"\\\\b\bf\fn\nr\rt\t//"

// escapeLetter returns the letter of the escape for c, such as 'n' for a newline, or 0 if c has
// none.
func escapeLetter(c byte) byte {
	for i := 1; i < len(escapes); i += 2 {
		if escapes[i] == c {
			return escapes[i-1]
		}
	}
	return 0
}

// unquote decodes quoted, a JSON string with its quotes. The caller must pass a valid string. Bytes
// that are not UTF-8, and unpaired surrogates, become U+FFFD.
func unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	plain := utf8.Valid(inner)
	for _, b := range inner {
		plain = plain && b != '\\'
	}
	if plain {
		return string(inner)
	}
	b := make([]byte, 0, len(inner)+utf8.UTFMax)
	for i := 0; i < len(inner); {
		switch c := inner[i]; {
		case c == '\\' && inner[i+1] == 'u':
			r := utf16Unit(inner[i:])
			i += unitLen
			if utf16.IsSurrogate(r) {
				pair := utf16.DecodeRune(r, utf16Unit(inner[i:]))
				if pair != utf8.RuneError {
					i += unitLen
				}
				r = pair
			}
			b = utf8.AppendRune(b, r)
		case c == '\\':
			b = append(b, escapedByte(inner[i+1]))
			i += 2
		case c < utf8.RuneSelf:
			b = append(b, c)
			i++
		default:
			r, size := utf8.DecodeRune(inner[i:])
			b = utf8.AppendRune(b, r)
			i += size
		}
	}
	return string(b)
}

// escapedByte returns the byte that the escape with this letter represents, such as a newline for
// 'n'.
func escapedByte(letter byte) byte {
	for i := 0; i < len(escapes); i += 2 {
		if escapes[i] == letter {
			return escapes[i+1]
		}
	}
	return letter
}

const unitLen = len(`\uFFFF`)

// utf16Unit returns the UTF-16 code unit of the escape at the start of b, such as \u00e9. It returns
// U+FFFD if b does not start with such an escape.
func utf16Unit(b []byte) rune {
	if len(b) < unitLen || b[0] != '\\' || b[1] != 'u' {
		return utf8.RuneError
	}
	n, err := strconv.ParseUint(string(b[2:unitLen]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}
