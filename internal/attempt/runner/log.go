package runner

// Log reads the lines of an attempt's log as the agent writes them. Viewers use it.
type Log struct{ tail tail }

// OpenLog returns a Log that starts at the offset from, in bytes. The file need not exist yet.
func OpenLog(path string, from int64) *Log { return &Log{tail{path: path, at: from}} }

// Lines calls each for every line that is new since the last call. last says that no more output
// will be written: then a last line without a line end counts too.
func (l *Log) Lines(last bool, each func(line []byte)) error { return l.tail.read(-1, last, each) }
