package sqlite

// These locks (F_OFD_GETLK and F_OFD_SETLK) belong to the open file and not to the
// process. So other connections of this process count as other users too.
const (
	getLock = 36
	setLock = 37
)
