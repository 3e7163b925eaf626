package machines

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"gaffer/internal/engine/store/postgres/pgtest"
)

// Postgres is a PostgreSQL server on a machine.
type Postgres struct {
	URL   string // URL of the server for programs on other machines
	Local string // URL of the server for the test itself, over a Unix socket

	t       testing.TB
	machine *Machine
	dir     string
	bin     string
	process *Process
	fast    time.Duration // how long Stop waits after the signal Fast before it sends the signal Immediate
}

// Postgres starts a PostgreSQL server on the machine. The server has PostgreSQL's default settings
// for durability: a commit returns only after its data is on the disk.
func (m *Machine) Postgres() *Postgres {
	t := m.network.t
	t.Helper()
	bin, err := pgtest.Programs()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "gaffer-pg-")
	if err != nil {
		t.Fatal(err)
	}
	p := &Postgres{t: t, machine: m, dir: dir, bin: bin, fast: time.Minute}
	p.URL = "postgres://postgres@" + m.Address + "/postgres?sslmode=disable"
	p.Local = "postgres:///postgres?" + url.Values{"host": {dir}, "user": {"postgres"}}.Encode()
	t.Cleanup(func() {
		m.end() // end PostgreSQL and all other processes that write to dir
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	p.init()
	p.Start()
	return p
}

func (p *Postgres) init() {
	p.t.Helper()
	argv, uid, gid := unprivileged([]string{filepath.Join(p.bin, "initdb"), "-D", p.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"})
	if err := os.Chown(p.dir, uid, gid); err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("initdb: %v: %s", err, out)
	}
	allow, err := os.OpenFile(filepath.Join(p.data(), "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = allow.WriteString("host all all samenet trust\n")
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if err := allow.Close(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

// Start starts the server and waits until it answers.
func (p *Postgres) Start() {
	p.t.Helper()
	argv, _, _ := unprivileged([]string{
		filepath.Join(p.bin, "postgres"), "-D", p.data(), "-k", p.dir,
		"-c", "listen_addresses=" + p.machine.Address, "-c", "max_connections=200",
	})
	p.process = p.machine.Start([]string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}, p.dir, argv...)
	Eventually(p.t, 5*time.Minute, "PostgreSQL answers", func() bool {
		if p.process.Ended() {
			p.t.Fatalf("PostgreSQL has ended: %v\n%s", p.process.err, p.machine.Output(4000))
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, p.Local)
		if err == nil {
			_ = conn.Close(ctx) // ignore the error: no query was sent
		}
		return err == nil
	})
}

// The signals with which [Postgres.Stop] can stop PostgreSQL.
const (
	Fast      = syscall.SIGINT  // PostgreSQL rolls back open transactions and then ends
	Immediate = syscall.SIGQUIT // PostgreSQL ends at once; the next start has to recover the database
)

// Stop sends the server the signal how, which is Fast or Immediate, and waits until the server has
// ended. If a Fast stop takes longer than p.fast, Stop sends Immediate.
func (p *Postgres) Stop(how syscall.Signal) {
	p.t.Helper()
	p.process.Signal(how)
	if how == Fast && !p.process.EndsWithin(p.fast) {
		p.t.Logf("PostgreSQL did not stop within %s: stopping it immediately", p.fast)
		p.process.Signal(Immediate)
	}
	_ = p.process.Wait(5 * time.Minute) // ignore the exit status: a stopped process may fail
}
