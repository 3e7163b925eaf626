package runner

// Log reads an attempt's log line by line, while the agent is still writing it.
type Log struct{ tail tail }

// OpenLog returns a Log that starts at an offset of the file, in bytes. The file need not exist
// yet.
func OpenLog(path string, offset int64) *Log { return &Log{tail{path: path, at: offset}} }

// Lines calls visit for every line that was written since the last call of Lines. The caller sets
// the parameter complete if no more output will be written. Then Lines also passes a last line that
// does not end with a newline.
func (l *Log) Lines(complete bool, visit func(line []byte)) error {
	return l.tail.read(-1, complete, visit)
}
