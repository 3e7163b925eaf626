package supervisor

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// dial connects to the socket in a folder. The kernel limits the length of a socket's path, and the
// folder's path may be longer. So dial connects through an open descriptor of the folder.
func dial(f folder) (net.Conn, error) {
	fd, err := unix.Open(string(f), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: string(f), Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	return net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d/%s", fd, socketFile))
}
