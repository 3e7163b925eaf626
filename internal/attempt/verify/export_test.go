package verify

// Shown is the end of an output as it is kept.
func Shown(text string, n int) string { return lastOf(printable(text), n) }
