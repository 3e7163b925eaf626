//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// process is the process of the server that is measured.
type process struct {
	cmd     *exec.Cmd
	address string
	host    string
	token   string
	log     *os.File
	drained chan struct{} // closed when all output of the server was read
	dbPID   int           // pid of PostgreSQL; 0 if the database is SQLite
	db      string        // the database: a file or a URL
}

// startServer starts the server as a user would, with a database on disk and a log file, and
// returns when the server listens. It turns the rate limit per token off, because all requests use
// the same token.
func startServer(ctx context.Context, s settings, dir string) (*process, error) {
	db := filepath.Join(dir, "gaffer.db")
	program, err := filepath.Abs(s.program)
	if err == nil && s.postgres != "" {
		db, err = database(ctx, s.postgres)
	}
	if err != nil {
		return nil, err
	}
	p := &process{drained: make(chan struct{}), dbPID: s.postgresPID, db: db}
	if p.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return nil, err
	}
	args := []string{"serve", "--listen", "127.0.0.1:0", "--db", db, "--rate", "0"}
	if s.connections > 0 {
		args = append(args, "--connections", strconv.Itoa(s.connections))
	}
	p.cmd = exec.CommandContext(ctx, program, args...)
	p.cmd.Dir, p.cmd.Stderr = dir, p.log
	p.cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir, "HOME="+dir)
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 20 * time.Second
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if err := p.readAddress(out); err != nil {
		return nil, errors.Join(err, p.stop(), p.lastWords())
	}
	text, err := os.ReadFile(filepath.Join(dir, "gaffer", "token"))
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	p.token = strings.TrimSpace(string(text))
	return p, nil
}

// database creates an empty database on a PostgreSQL server and returns the URL of the
// database.
func database(ctx context.Context, server string) (string, error) {
	c, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close(ctx) }() // ignore the error: CREATE DATABASE has already succeeded or failed
	name := fmt.Sprintf("bench%d", time.Now().UnixNano())
	if _, err := c.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	address, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	address.Path = "/" + name
	return address.String(), nil
}

// readAddress reads the server's address from its output. A goroutine discards the output
// that follows.
func (p *process) readAddress(out io.Reader) error {
	lines := bufio.NewScanner(out)
	defer func() {
		go func() {
			defer close(p.drained)
			_, _ = io.Copy(io.Discard, out) // returns when the server has ended
		}()
	}()
	for lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "Listening on http://"); ok {
			p.address = at
			host, _, err := net.SplitHostPort(at)
			p.host = host
			return err
		}
	}
	return errors.New("the server did not say where it listens")
}

func (p *process) lastWords() error {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err
	}
	return errors.New(strings.TrimSpace(string(text)))
}

func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // ignore the error: it means that the server has already ended
	<-p.drained
	return errors.Join(p.cmd.Wait(), p.log.Close())
}

// cpu returns the processor time that the server has used.
func (p *process) cpu() time.Duration { _, used := processorTime(p.cmd.Process.Pid); return used }

// databaseCPU returns the processor time that all processes of PostgreSQL have used.
func (p *process) databaseCPU() (sum time.Duration) {
	if p.dbPID == 0 {
		return 0
	}
	_, sum = tree(p.dbPID)
	return sum
}

// tree returns the pids of a process and of all its descendants, and the sum of their processor
// times.
func tree(root int) (pids []int, sum time.Duration) {
	children := map[int][]int{}
	used := map[int]time.Duration{}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		parent, time := processorTime(pid)
		children[parent] = append(children[parent], pid)
		used[pid] = time
	}
	pids = []int{root}
	for i := 0; i < len(pids); i++ {
		sum += used[pids[i]]
		pids = append(pids, children[pids[i]]...)
	}
	return pids, sum
}

// processorTime returns the pid of a process's parent, and the processor time that the process has
// used. Both are 0 if the process does not exist.
func processorTime(pid int) (parent int, used time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, 0
	}
	const perSecond = 100 // clock ticks per second in /proc/PID/stat (USER_HZ)
	parent, _ = strconv.Atoi(fields[1])
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return parent, time.Duration(user+system) * time.Second / perSecond
}

// memory prints one line with the current and the highest memory use of the server. label names the
// point of the measurement, such as "at the end".
func (p *process) memory(label string) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return err
	}
	now, most := 0.0, 0.0
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kb, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		switch name {
		case "VmRSS":
			now = kb / 1024
		case "VmHWM":
			most = kb / 1024
		}
	}
	fmt.Printf("%-44s %9.0f MB  (at most %.0f MB)\n", "memory of the server, "+label, now, most)
	return nil
}

// ownCPU returns the processor time that the load generator, this process, has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
