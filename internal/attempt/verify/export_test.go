package verify

// Shown returns the last n characters of an output, in the form in which an Outcome keeps it.
func Shown(text string, n int) string { return lastChars(printable(text), n) }
