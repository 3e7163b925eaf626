// Package pgtest runs a PostgreSQL server for the tests of a package:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
// The server keeps its files and its Unix socket in a temporary folder. It ends when the test
// binary ends, even if the binary crashes.
package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Variable is the environment variable for the URL of a server that is already running. If it is
// set, [Main] uses that server and does not start one.
const Variable = "GAFFER_TEST_POSTGRES"

// Main starts a server, runs the tests of a package, and stops the server. It returns the exit code
// of the tests, or a code other than 0 if the server cannot be started or stopped. If [Variable] is
// set, it only runs the tests.
func Main(m *testing.M) int {
	if os.Getenv(Variable) != "" {
		return m.Run()
	}
	// These settings make the server faster. Tests need no data after a crash of the machine, and
	// write too little data to need a vacuum.
	server, err := Start("fsync=off", "autovacuum=off")
	if err == nil {
		err = os.Setenv(Variable, server.URL)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "start PostgreSQL:", err)
		return 1
	}
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
		return max(code, 1)
	}
	return code
}

// Database creates an empty database for a test, on the server of [Main], and returns its URL. It
// does not delete the database.
func Database(t *testing.T) string {
	t.Helper()
	server, err := url.Parse(os.Getenv(Variable))
	if err != nil || server.Scheme == "" {
		t.Fatalf("%s is not a URL: does the package's TestMain call pgtest.Main?", Variable)
	}
	conn, err := pgx.Connect(t.Context(), server.String())
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var name string
	err = conn.QueryRow(t.Context(), "SELECT 'test_' || replace(gen_random_uuid()::text, '-', '')").Scan(&name)
	if err == nil {
		_, err = conn.Exec(t.Context(), "CREATE DATABASE "+name)
	}
	if err != nil {
		t.Fatalf("create a database: %v", err)
	}
	server.Path = "/" + name
	return server.String()
}

// Server is a PostgreSQL server that [Start] has started. The caller must call Stop.
type Server struct {
	URL string

	dir string
	cmd *exec.Cmd
	// alive is the stdin of the shell that runs the server. The shell ends the server when alive is
	// closed, which also happens when the test binary crashes.
	alive io.Closer
}

// Start starts a server with the version of PostgreSQL that [Programs] finds. Each setting has the
// form of a line in postgresql.conf, for example "fsync=off".
func Start(settings ...string) (*Server, error) {
	bin, err := Programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gaffer-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, URL: (&url.URL{
		Scheme: "postgres", Path: "/postgres", RawQuery: url.Values{"host": {dir}, "user": {"postgres"}}.Encode(),
	}).String()}
	if err := s.start(bin, settings); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// Programs returns the folder that contains the programs initdb and postgres. It uses the newest
// version in /usr/lib/postgresql. If there is none, it uses the folder of the initdb in PATH.
func Programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("initdb is not installed: apt-get install postgresql")
	}
	return filepath.Dir(initdb), nil
}

// version returns the PostgreSQL version in the path of initdb, for example 15 for
// /usr/lib/postgresql/15/bin/initdb.
func version(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

func (s *Server) start(bin string, settings []string) error {
	who, err := unprivileged()
	if err != nil {
		return err
	}
	if who != nil {
		if err := os.Chown(s.dir, int(who.Uid), int(who.Gid)); err != nil {
			return err
		}
	}
	data := filepath.Join(s.dir, "data")
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir = s.dir
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") }), "LC_ALL=C")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
		return cmd
	}
	// Most servers have a locale that does not sort text in byte order, so the tests use such a
	// locale too.
	out, err := command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
		"--locale-provider=icu", "--icu-locale=en", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	args := []string{
		"-c", `dir=$1; shift; "$@" & read -r _; kill -INT $!; wait $!; code=$?; rm -rf "$dir"; exit $code`, "sh", s.dir,
		filepath.Join(bin, "postgres"), "-D", data, "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=200",
	}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	s.cmd = command("/bin/sh", args...)
	return s.run()
}

// unprivileged returns the user for the server process if the tests run as root, because PostgreSQL
// refuses to run as root. It is the user postgres or, if that does not exist, nobody. If the tests
// do not run as root, unprivileged returns nil.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		who, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(who.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(who.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

// run starts the server and waits until it accepts connections. If the server ends before that, run
// returns an error that contains the server's log.
func (s *Server) run() error {
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	s.alive = stdin
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	var said strings.Builder
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "ready to accept connections") {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return nil
		}
	}
	return fmt.Errorf("postgres: %w: %s", s.cmd.Wait(), said.String())
}

// PID returns the process id of the shell that runs the server. The server's processes are
// descendants of the shell.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stop ends the server and deletes its temporary folder.
func (s *Server) Stop() error {
	_ = s.alive.Close()
	err := s.cmd.Wait()
	return errors.Join(err, os.RemoveAll(s.dir))
}
