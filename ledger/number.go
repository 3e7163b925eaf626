package ledger

import (
	"strconv"
	"strings"

	"gaffer/statefile/jsontree"
)

// wholeNumber returns the JSON number in raw as plain digits, without fraction and exponent. It
// returns false if the number is not an integer. As in JSON Schema, 1.0 and 10e-1 are the integer
// 1. It appends at most 40 zeros. If there should be more, the result is wrong, but it has the
// right sign and, like the exact number, does not fit into 64 bits.
func wholeNumber(raw []byte) (string, bool) {
	s := string(raw)
	if !strings.ContainsAny(s, ".eE") {
		if s == "-0" {
			return "0", true
		}
		return s, true
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0", true
	}
	zeros := len(digits) - len(strings.TrimRight(digits, "0"))
	shift := -len(fraction)
	if exponent != "" {
		shift += parseExponent(exponent)
	}
	if shift < -zeros {
		return "", false
	}
	digits = withZeros(digits, shift)
	if negative {
		digits = "-" + digits
	}
	return digits, true
}

// intOf returns v as a 64-bit integer. It accepts every notation of an integer, such as 2.0 for 2.
// It returns false if v is not a 64-bit integer.
func intOf(v jsontree.Value) (int64, bool) {
	if v.Kind() != jsontree.Number {
		return 0, false
	}
	digits, whole := wholeNumber(v.Raw())
	if !whole {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

// withZeros multiplies the number in digits by 10 to the power of shift. If shift is positive, it
// appends zeros, but at most 40. If shift is negative, it removes digits from the end. The caller
// guarantees that the removed digits are zeros.
func withZeros(digits string, shift int) string {
	const most = 40
	if shift <= 0 {
		return digits[:len(digits)+shift]
	}
	return digits + strings.Repeat("0", min(shift, most))
}

// parseExponent parses the exponent s. It clamps the result to the range from -limit to limit, so
// that the caller can add to it without an overflow.
func parseExponent(s string) int {
	const limit = 1 << 30
	n, err := strconv.Atoi(s)
	switch {
	case err == nil:
		return max(-limit, min(n, limit))
	case strings.HasPrefix(s, "-"):
		return -limit
	}
	return limit
}
