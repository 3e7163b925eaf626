package sqlite

// The fcntl commands F_OFD_GETLK and F_OFD_SETLK. Their locks belong to the open file and
// not to the process, so they conflict with other connections of this process too.
const (
	getLock = 36
	setLock = 37
)
