package postgres_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"sync"
	"testing"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/testkit/testenv"
)

// With PgBouncer in transaction mode, each transaction may run on another connection to the server.
func TestStoresWorkThroughPgBouncerInTransactionMode(t *testing.T) {
	testenv.Integration(t)
	program, err := osexec.LookPath("pgbouncer")
	if err != nil {
		t.Fatalf("%v; script/test installs it", err)
	}
	direct, err := url.Parse(pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	port := startPgBouncer(t, program, direct.Query().Get("host"))
	pooled := fmt.Sprintf("postgres://postgres@127.0.0.1:%d%s?sslmode=disable&default_query_exec_mode=exec", port, direct.Path)
	const stores, writers, times = 2, 4, 10
	var all sync.WaitGroup
	for range stores {
		s := open(t, pooled)
		defer func() { _ = s.Close() }()
		for range writers {
			all.Go(func() {
				for range times {
					err := s.Write(t.Context(), func(tx *store.Tx) error {
						w, err := tx.Worker("n")
						if err != nil && !errors.Is(err, store.ErrNotFound) {
							return err
						}
						w.ID, w.Slots = "n", w.Slots+1
						tx.PutWorker(w)
						tx.Append(store.Event{Kind: "k"})
						return nil
					})
					if err != nil {
						t.Errorf("write: %v", err)
					}
				}
			})
		}
	}
	all.Wait()
	s := open(t, pooled)
	defer func() { _ = s.Close() }()
	if err := s.Wait(t.Context(), stores*writers*times-1); err != nil {
		t.Error(err)
	}
	err = s.Read(t.Context(), func(r store.Reader) error {
		w, err := r.Worker("n")
		if w.Slots != stores*writers*times {
			t.Errorf("counted %d writes, want %d", w.Slots, stores*writers*times)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// startPgBouncer starts PgBouncer as a proxy for the server whose Unix socket is in the folder
// socket, and returns the port of PgBouncer.
func startPgBouncer(t *testing.T, program, socket string) int {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	dir := t.TempDir()
	config := fmt.Sprintf("[databases]\n* = host=%s user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"+
		"auth_type = any\npool_mode = transaction\ndefault_pool_size = 5\nmax_client_conn = 1000\nlogfile = %s/log\n", socket, port, dir)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{file}
	if os.Getuid() == 0 { // PgBouncer refuses to run as root
		for _, path := range []string{filepath.Dir(dir), dir, file} {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		args = []string{"-u", "postgres", file}
	}
	cmd := osexec.Command(program, args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	testenv.Wait(t, "pgbouncer to accept connections", func() error {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
	return port
}
