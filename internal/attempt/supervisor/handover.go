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

// A [Pool] hands attempts to a supervisor over the supervisor's control connection, one after the
// other. Each handover is a single byte that is sent together with two open files: the attempt's
// lock file, which is locked, and one end of a new connection for this attempt. The byte and the
// files arrive together or not at all. The first line of the new connection contains the attempt's
// folder and environment. If the new connection ends before that line is complete, the supervisor
// does not start the attempt. After that line the new connection is an ordinary client connection.
//
// If the supervisor never receives the lock file, its lock is released as follows. The pool closes
// its own descriptor of the lock file, and both sides close the control connection. Then the kernel
// closes the files that were sent but not received.

// handover is the first line of an attempt's connection. The fields are bytes, because JSON strings
// must be valid UTF-8, and a path or an environment need not be.
type handover struct {
	Dir []byte `json:"dir"`
	Env []byte `json:"env"` // the variables of the environment, each followed by a zero byte
}

// maxHandover is the maximum size of a handover in bytes. It is more than the size of the largest
// environment that the kernel accepts.
const maxHandover = 32 << 20

// receivedAttempt is an attempt that a [Pool] has handed to this supervisor.
type receivedAttempt struct {
	lock    *os.File
	starter *link
	dir     string
	env     []string
}

// handOver hands an attempt to a supervisor and returns the new connection for this attempt. Even
// if handOver returns an error, the supervisor may have received the attempt.
func handOver(control *net.UnixConn, n *preparedAttempt) (*link, error) {
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

// receiveAttempt waits until the pool hands over an attempt. If it returns an error, this
// supervisor gets no further attempts.
func receiveAttempt(control *net.UnixConn) (*receivedAttempt, error) {
	lock, conn, err := receiveFiles(control)
	if err != nil {
		return nil, err
	}
	t := &receivedAttempt{lock: lock, starter: newLink(conn)}
	var h handover
	if err := t.starter.receiveUpTo(maxHandover, &h); err != nil {
		t.starter.close()
		_ = lock.Close() // ignore the error: nothing was written to the lock
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
	fds := passedDescriptors(rights[:size])
	if n != 1 || len(fds) != 2 {
		closeAll(fds)
		return nil, nil, io.ErrUnexpectedEOF
	}
	lock = os.NewFile(uintptr(fds[0]), lockFile)
	if conn, err = socketOf(uintptr(fds[1])); err != nil {
		_ = lock.Close() // ignore the error: nothing was written to the lock
		return nil, nil, err
	}
	return lock, conn, nil
}

// passedDescriptors returns the file descriptors that were passed together with a message.
func passedDescriptors(control []byte) (fds []int) {
	messages, _ := syscall.ParseSocketControlMessage(control) // ignore the error: the caller checks the number of descriptors
	for i := range messages {
		some, _ := syscall.ParseUnixRights(&messages[i])
		fds = append(fds, some...)
	}
	return fds
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = syscall.Close(fd) // ignore the error: nothing was written to the file
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

// controlOf returns the connection over which a pool hands attempts to this supervisor.
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
