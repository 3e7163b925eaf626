package supervisor

import (
	"fmt"
	"net"
)

// maxSocketPath is the maximum length in bytes of a socket's path on macOS.
const maxSocketPath = 103

// dial connects to the socket in a folder.
func dial(f folder) (net.Conn, error) {
	path := f.path(socketFile)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("%s: the path of a socket may have %d bytes on macOS, and this has %d", path, maxSocketPath, len(path))
	}
	return net.Dial("unix", path)
}
