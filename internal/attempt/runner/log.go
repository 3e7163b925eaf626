package runner

// Log reads the lines of an attempt's log as they are written, for viewers.
type Log struct{ tail tail }

// OpenLog returns a Log that starts at an offset. The file need not exist yet.
func OpenLog(path string, from int64) *Log { return &Log{tail{path: path, at: from}} }

// Lines calls each for every new line. last says that no more output will be written,
// so that an unterminated last line counts too.
func (l *Log) Lines(last bool, each func(line []byte)) error { return l.tail.read(-1, last, each) }
