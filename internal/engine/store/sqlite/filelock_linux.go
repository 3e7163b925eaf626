package sqlite

// The fcntl commands F_OFD_GETLK and F_OFD_SETLK. Locks that are set with them belong to the open
// file and not to the process. So they also conflict with the locks of SQLite connections in the
// same process.
const (
	getLock = 36
	setLock = 37
)
