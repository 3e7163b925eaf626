package supervisor

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Over its control connection a supervisor is given one attempt after the other.
// Each is a single byte that carries two open files: the lock, held, and one end
// of a connection for this attempt alone. A byte arrives whole or not at all, and
// the lock with it. The rest comes as the first line of the new connection; if
// that ends before the line does, nobody wants the attempt any more. After the
// line the starter is a client like any other.
//
// Files under way in a connection are closed with it, so that a lock which nobody
// has received is free when both ends are gone.

// handover is that first line. Neither a path nor an environment need be text.
type handover struct {
	Dir []byte `json:"dir"`
	Env []byte `json:"env"` // each variable ends with a zero byte
}

// maxHandover is more than the kernel takes for an environment.
const maxHandover = 32 << 20

// turn is an attempt that was handed over.
type turn struct {
	lock    *os.File
	starter *link
	dir     string
	env     []string
}

// handOver returns the attempt's connection. If there is an error the attempt may
// have arrived all the same.
func handOver(control *net.UnixConn, n *newcomer) (*link, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer ours.Close()
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	l := newLink(conn)
	if err = control.SetWriteDeadline(time.Now().Add(writeTimeout)); err == nil {
		_, _, err = control.WriteMsgUnix([]byte{'\n'}, syscall.UnixRights(int(n.lock.Fd()), int(theirs.Fd())), nil)
	}
	if err == nil {
		err = l.send(handover{Dir: []byte(n.folder), Env: packEnv(n.spec.Env)})
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// receiveTurn waits for an attempt. An error is the last.
func receiveTurn(control *net.UnixConn) (*turn, error) {
	lock, conn, err := receiveFiles(control)
	if err != nil {
		return nil, err
	}
	t := &turn{lock: lock, starter: newLink(conn)}
	var h handover
	if err := t.starter.receiveUpTo(maxHandover, &h); err != nil {
		t.starter.close()
		_ = lock.Close() // nothing was written to it
		return nil, err
	}
	t.dir, t.env = string(h.Dir), unpackEnv(h.Env)
	return t, nil
}

func receiveFiles(control *net.UnixConn) (lock *os.File, conn net.Conn, err error) {
	var word [1]byte
	rights := make([]byte, syscall.CmsgSpace(2*4))
	n, size, _, _, err := control.ReadMsgUnix(word[:], rights)
	if err != nil {
		return nil, nil, err
	}
	fds := passed(rights[:size])
	if n != 1 || len(fds) != 2 {
		closeAll(fds)
		return nil, nil, io.ErrUnexpectedEOF
	}
	lock = os.NewFile(uintptr(fds[0]), lockFile)
	if conn, err = socketOf(uintptr(fds[1])); err != nil {
		_ = lock.Close() // nothing was written to it
		return nil, nil, err
	}
	return lock, conn, nil
}

// passed returns the open files that came with a message.
func passed(control []byte) (fds []int) {
	messages, _ := syscall.ParseSocketControlMessage(control) // none is too few
	for i := range messages {
		some, _ := syscall.ParseUnixRights(&messages[i])
		fds = append(fds, some...)
	}
	return fds
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = syscall.Close(fd) // nothing was written to it
	}
}

func packEnv(env []string) []byte {
	size := 0
	for _, v := range env {
		size += len(v) + 1
	}
	packed := make([]byte, 0, size)
	for _, v := range env {
		packed = append(append(packed, v...), 0)
	}
	return packed
}

func unpackEnv(packed []byte) (env []string) {
	for len(packed) > 0 {
		v, rest, _ := bytes.Cut(packed, []byte{0})
		env, packed = append(env, string(v)), rest
	}
	return env
}

// controlOf is the connection that a supervisor gets its attempts from.
func controlOf(fd uintptr) (*net.UnixConn, error) {
	conn, err := socketOf(fd)
	if err != nil {
		return nil, err
	}
	control, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.New("not a socket to get attempts from")
	}
	return control, nil
}
