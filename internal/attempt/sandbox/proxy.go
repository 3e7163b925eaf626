package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// hostList lists the hosts that the program in a sandbox may connect to. An entry is NAME, or
// *.NAME for all names below NAME. The entry may end with :PORT. If it has no port, it allows the
// ports 80 and 443.
type hostList []string

// allows reports whether the list allows connections to this port of the host.
func (l hostList) allows(host, port string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, entry := range l {
		name, want, err := net.SplitHostPort(entry)
		if err != nil {
			name, want = entry, ""
		}
		if want != "" && want != port || want == "" && port != "80" && port != "443" {
			continue
		}
		name = strings.ToLower(strings.Trim(name, "[]"))
		if suffix, ok := strings.CutPrefix(name, "*"); name == host || ok && strings.HasPrefix(suffix, ".") && strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

const (
	requestTimeout = time.Minute // time limit for reading the header of a request
	dialTimeout    = 30 * time.Second
)

// serveProxy answers the request on one connection to gaffer's proxy, through which a program in a
// sandbox connects to other hosts. The request is either CONNECT, which opens a tunnel, or one
// plain HTTP request with an absolute URL. The parameter in is a buffered reader of conn.
func serveProxy(conn net.Conn, in *bufio.Reader, hosts hostList) {
	_ = conn.SetReadDeadline(time.Now().Add(requestTimeout)) // fails only for a broken connection
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		host, port = r.Host, "80"
	}
	host = strings.Trim(host, "[]")
	switch {
	case r.Method != http.MethodConnect && (r.URL.Scheme != "http" || r.URL.Host == ""):
		refuse(conn, http.StatusBadRequest, "want CONNECT, or a request with an http:// address")
		return
	case !hosts.allows(host, port):
		refuse(conn, http.StatusForbidden, fmt.Sprintf("%s:%s is not in the list of hosts of this task's sandbox", host, port))
		return
	}
	out, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), dialTimeout)
	if err != nil {
		refuse(conn, http.StatusBadGateway, err.Error())
		return
	}
	defer out.Close()
	if r.Method == http.MethodConnect {
		if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err == nil {
			exchange(conn, in, out)
		}
		return
	}
	r.Header.Del("Proxy-Connection")
	r.Header.Del("Proxy-Authorization")
	r.Close = true // one request for each connection: the next one may be for another host
	if err := r.Write(out); err == nil {
		_, _ = io.Copy(conn, out) // ignore the error: either side may close the connection
	}
}

func refuse(conn net.Conn, status int, text string) {
	text = "gaffer: " + strings.ReplaceAll(text, "\n", " ") + "\n"
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, http.StatusText(status), len(text), text)
}

// exchange copies data between conn and out, until both directions have ended. It reads the data of
// conn through the parameter in, which may be a buffered reader of conn.
func exchange(conn net.Conn, in io.Reader, out net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { pump(out, in) })
	both.Go(func() { pump(conn, out) })
	both.Wait()
}

func pump(to net.Conn, from io.Reader) {
	_, _ = io.Copy(to, from) // ignore the error: either side may close the connection
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	} else {
		_ = to.Close()
	}
}
