package verify

// Shown returns the end of an output in the form in which it is kept.
func Shown(text string, n int) string { return lastChars(printable(text), n) }
