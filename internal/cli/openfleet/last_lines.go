package openfleet

import (
	"bytes"
	"errors"
	"io"
)

// blockSize is the number of bytes of a log that are read in one operation.
const blockSize = 64 << 10

// seekLastLines sets the offset of f to the start of its last n lines. If n is 0, it sets the
// offset to the end. If n is negative, it leaves the offset unchanged. It reads f backwards in
// blocks, because a log may be larger than memory.
func seekLastLines(f io.ReadSeeker, n int) error {
	if n < 0 {
		return nil
	}
	at, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	buf := make([]byte, blockSize)
	first := true
	for at > 0 {
		size := min(at, blockSize)
		at -= size
		if _, err := f.Seek(at, io.SeekStart); err != nil {
			return err
		}
		part := buf[:size]
		if _, err := io.ReadFull(f, part); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		end := len(part)
		if first && part[end-1] == '\n' {
			end-- // do not count the newline at the end of the file
		}
		first = false
		for i := bytes.LastIndexByte(part[:end], '\n'); i >= 0; i = bytes.LastIndexByte(part[:i], '\n') {
			if n--; n == 0 {
				_, err := f.Seek(at+int64(i)+1, io.SeekStart)
				return err
			}
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}
