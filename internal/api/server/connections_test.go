package server

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/api/credential"
	"gaffer/internal/testkit/testenv"
)

// crowdLimit is an environment variable. If it is set, TestMain runs this program as a server that
// accepts so many connections.
const crowdLimit = "GAFFER_TEST_CONNECTIONS"

// serveCrowd runs a server until standard input ends. It is called in a separate process.
func serveCrowd(connections string) error {
	raiseFiles()
	n, err := strconv.Atoi(connections)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	book := credential.NewTokenStore(&memory{rows: map[string]credential.Token{}}, time.Now, rand.Reader)
	text, _, err := book.Create(context.Background(), credential.TokenSpec{Role: credential.Worker, Name: "w"})
	if err != nil {
		return err
	}
	s, err := New(Options{
		Protocol: newStandIn(time.Now), Tokens: book, Log: NewLog(io.Discard, slog.LevelError), Now: time.Now, Random: rand.Reader,
		Hosts: []string{"127.0.0.1"}, Connections: n, Header: 40 * time.Second, // long, because a slow machine needs long to open all connections
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	fmt.Println(l.Addr(), text)
	return s.Serve(ctx, l)
}

// raiseFiles raises the soft limit of open files to the hard limit.
func raiseFiles() {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) == nil {
		l.Cur = l.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l) // if this fails, the test reports too few open files
	}
}

// crowded is a server in another process, and a token that it accepts.
type crowded struct {
	t           *testing.T
	addr, token string
	pid         int
}

func startCrowded(t *testing.T, connections int) *crowded {
	t.Helper()
	raiseFiles()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", crowdLimit, connections))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	c := &crowded{t: t, pid: cmd.Process.Pid}
	if _, err := fmt.Fscan(bufio.NewReader(out), &c.addr, &c.token); err != nil {
		t.Fatal(err)
	}
	return c
}

// open returns how many files and sockets the server has open.
func (c *crowded) open() int {
	c.t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.pid))
	if err != nil {
		c.t.Fatal(err)
	}
	return len(list)
}

// memory returns how many bytes of memory the server holds.
func (c *crowded) memory() int {
	c.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid))
	if err != nil {
		c.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kilobytes int
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		c.t.Fatal(err)
	}
	return kilobytes << 10
}

// strangers opens n connections that send nothing. It returns a function that closes them.
func (c *crowded) strangers(n int) func() {
	const hands = 8
	conns := make([]net.Conn, n)
	var all sync.WaitGroup
	for hand := range hands {
		all.Go(func() {
			for i := hand; i < n; i += hands {
				conn, err := net.Dial("tcp", c.addr)
				if err != nil {
					c.t.Errorf("stranger %d: %v", i, err)
					return
				}
				conns[i] = conn
			}
		})
	}
	all.Wait()
	return func() {
		for _, conn := range conns {
			if conn, ok := conn.(*net.TCPConn); ok {
				_ = conn.SetLinger(0) // so that closing frees the port at once
				_ = conn.Close()
			}
		}
	}
}

// beat sends a worker's request. It returns how long the request took, and whether it reused an
// open connection.
func (c *crowded) beat(client *http.Client) (took time.Duration, again bool, err error) {
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { again = i.Reused }}
	ctx, cancel := context.WithTimeout(httptrace.WithClientTrace(context.Background(), trace), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.addr+"/v1/agents/heartbeat", strings.NewReader(`{"agent_id":"a"}`))
	if err != nil {
		return 0, false, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	begin := time.Now()
	resp, err := client.Do(r)
	if err != nil {
		return 0, again, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return 0, again, fmt.Errorf("%d, %w", resp.StatusCode, err)
	}
	return time.Since(begin), again, nil
}

func (c *crowded) client() *http.Client {
	transport := &http.Transport{}
	c.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// answers fails unless two workers get answers: one over the connection that the client old has
// open, and one over a new connection.
func (c *crowded) answers(old *http.Client, when string) {
	c.t.Helper()
	if took, again, err := c.beat(old); err != nil || !again {
		c.t.Errorf("%s, a worker that was there: %v, over its connection %v, %v", when, took, again, err)
	}
	if took, _, err := c.beat(c.client()); err != nil {
		c.t.Errorf("%s, a worker that comes: %v, %v", when, took, err)
	}
}

func TestSecurityThousandsOfConnectionsAtOnce(t *testing.T) {
	testenv.Integration(t)
	crowd := testenv.Count(0, 1500, 10_000)
	c := startCrowded(t, crowd+100)
	old := c.client()
	if _, _, err := c.beat(old); err != nil {
		t.Fatal(err)
	}
	memory, files := c.memory(), c.open()
	leave := c.strangers(crowd)
	defer leave()
	testenv.WaitFor(t, fmt.Sprintf("%d open files more than %d", crowd, files), c.open, func(n int) bool { return n-files >= crowd })
	c.answers(old, "while all are there")
	each := (c.memory() - memory) / crowd
	if each > 64<<10 {
		t.Errorf("each takes %d bytes", each)
	}
	t.Logf("each of %d takes %d bytes", crowd, each)
	testenv.Wait(t, "the end of connections that say nothing", func() error {
		if now := c.open(); now >= files+100 {
			return fmt.Errorf("%d files are open, before it were %d", now, files)
		}
		return nil
	})
	c.answers(old, "after that")
}

func TestSecurityThousandsOfUnauthenticatedConnectionsDoNotLockOthersOut(t *testing.T) {
	crowd := testenv.Count(200, 1500, 10_000)
	testenv.Integration(t)
	limit := crowd / 3
	c := startCrowded(t, limit)
	old := c.client()
	if _, _, err := c.beat(old); err != nil {
		t.Fatal(err)
	}
	memory, files := c.memory(), c.open()
	for _, wave := range []int{crowd, crowd / 2} { // the second wave connects while the first is still connected
		leave := c.strangers(wave)
		defer leave()
		c.answers(old, fmt.Sprintf("after %d strangers", wave))
		testenv.WaitFor(t, fmt.Sprintf("no more than %d open files", files+limit+100), c.open, func(n int) bool { return n <= files+limit+100 })
	}
	if grown := c.memory() - memory; grown > 512<<20 {
		t.Errorf("%d bytes more", grown)
	}
}

func TestSecurityWithTheLimitReachedByTokensOneMoreIsClosedAtOnce(t *testing.T) {
	const most = 3
	c := startCrowded(t, most)
	var workers []*http.Client
	for range most {
		client := c.client()
		if _, _, err := c.beat(client); err != nil {
			t.Fatal(err)
		}
		workers = append(workers, client)
	}
	if _, _, err := c.beat(c.client()); err == nil {
		t.Error("one more was let in")
	}
	for i, client := range workers {
		if _, again, err := c.beat(client); err != nil || !again {
			t.Errorf("worker %d: over its connection %v, %v", i, again, err)
		}
	}
}
