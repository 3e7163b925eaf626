package runner

// Log reads the lines of an attempt's log as they come, for who looks on.
type Log struct{ tail tail }

// OpenLog begins at a place in the log. The log need not be there yet.
func OpenLog(path string, from int64) *Log { return &Log{tail{path: path, at: from}} }

// Lines calls each for every line that has come since. last says that no more
// will come, so that a line without an end is one too.
func (l *Log) Lines(last bool, each func(line []byte)) error { return l.tail.read(-1, last, each) }
