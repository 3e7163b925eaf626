package sqlite

// The locks belong to the open file and not to the process (F_OFD_GETLK and
// F_OFD_SETLK), so that a connection of this process would count as another's.
const (
	getLock = 36
	setLock = 37
)
