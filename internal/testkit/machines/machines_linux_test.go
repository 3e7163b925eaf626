package machines

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// echo runs an echo server on a machine until the test ends.
func echo(t *testing.T, m *Machine) (address string) {
	t.Helper()
	var l net.Listener
	if err := m.within(func() (err error) {
		l, err = net.Listen("tcp", m.Address+":7") //nolint:noctx // it is closed below
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = bufio.NewReader(conn).WriteTo(conn) }()
		}
	}()
	return l.Addr().String()
}

// hears sends a line and reports whether the echo server sends it back in time.
func hears(conn net.Conn, within time.Duration) bool {
	const line = "are you there?\n"
	_ = conn.SetDeadline(time.Now().Add(within)) // ignore the error: the next calls would fail too
	if _, err := conn.Write([]byte(line)); err != nil {
		return false
	}
	back := make([]byte, len(line))
	_, err := conn.Read(back)
	return err == nil && string(back) == line
}

func TestAMachineIsCutOffAndReachedAgain(t *testing.T) {
	n := New(t)
	a, b := n.Machine("a"), n.Machine("b")
	address := echo(t, b)
	for _, cut := range []Cut{Unplugged, Lost} {
		for _, who := range []*Machine{a, b} {
			conn, err := a.Dial(t.Context(), "tcp", address)
			if err != nil {
				t.Fatalf("before a machine is %s: %v", cut, err)
			}
			defer conn.Close()
			who.Cut(cut)
			if hears(conn, 300*time.Millisecond) {
				t.Errorf("%s is %s and answers", who.Name, cut)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			if other, err := a.Dial(ctx, "tcp", address); err == nil {
				t.Errorf("%s is %s and can be connected to", who.Name, cut)
				_ = other.Close()
			}
			cancel()
			who.Reconnect()
			Eventually(t, 20*time.Second, "the connection that was there goes on", func() bool {
				_ = conn.SetDeadline(time.Now().Add(time.Second))
				_, err := conn.Read(make([]byte, 100)) // read the line that was delayed
				return err == nil
			})
			if !hears(conn, 10*time.Second) {
				t.Errorf("%s is not reached again after it was %s", who.Name, cut)
			}
		}
	}
}

func TestAMachineHasItsOwnNameAndProcesses(t *testing.T) {
	n := New(t)
	m := n.Machine("somewhere")
	p := m.Start(os.Environ(), m.Home, "/bin/sh", "-c", `hostname; pwd; ls -d /proc/[0-9]* | wc -l; ip -brief address show scope global`)
	if err := p.Wait(20 * time.Second); err != nil {
		t.Error(err)
	}
	said := strings.Fields(m.Output(1000))
	if len(said) < 6 || said[0] != "somewhere" || said[1] != m.Home || len(said[2]) > 1 || said[5] != m.Address+"/24" {
		t.Errorf("the machine says %q", said)
	}
}

func TestAProcessIsKilledAloneAndTheRestEndsWithTheMachine(t *testing.T) {
	const run = "r-machines-end"
	t.Run("", func(t *testing.T) {
		m := New(t).Machine("m")
		p := m.Start(os.Environ(), m.Home, "env", "GAFFER_RUN="+run, "GAFFER_ATTEMPT=a", "sh", "-c", "setsid sleep 1000 & sleep 1000")
		Eventually(t, 20*time.Second, "all have begun", func() bool { return len(agents(run)) == 3 })
		p.Kill()
		// Wait, because a process that is just calling exec has no environment for a moment.
		Eventually(t, 20*time.Second, "the other two are left", func() bool { return len(agents(run)) == 2 })
	})
	if left := agents(run); len(left) > 0 {
		t.Errorf("the machine has ended and left %v", left)
	}
}

// An orphan that ends must not stay a zombie: programs that wait for its end would wait forever.
func TestAnEndedOrphanLeavesNoZombie(t *testing.T) {
	m := New(t).Machine("m")
	p := m.Start(os.Environ(), m.Home, "/bin/sh", "-c", "(sleep 0.1 & echo $! >orphan); while kill -0 $(cat orphan) 2>/dev/null; do sleep 0.1; done")
	if err := p.Wait(20 * time.Second); err != nil {
		t.Errorf("the orphan is still there: %v", err)
	}
}

func TestWhatIsCommittedSurvivesAnyRestartOfPostgres(t *testing.T) {
	n := New(t)
	db, client := n.Machine("db").Postgres(), n.Machine("client")
	config, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = client.Dial
	query := func(sql string) (n int, err error) {
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			return 0, err
		}
		defer func() { _ = conn.Close(t.Context()) }()
		return n, conn.QueryRow(t.Context(), sql).Scan(&n)
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept (n int)"); err != nil {
		t.Fatal(err)
	}
	for i, how := range []syscall.Signal{Fast, Immediate} {
		if _, err := query(fmt.Sprintf("INSERT INTO kept VALUES (%d) RETURNING n", i)); err != nil {
			t.Fatal(err)
		}
		db.Stop(how)
		db.Start()
		if n, err := query("SELECT count(*) FROM kept"); err != nil || n != i+1 {
			t.Errorf("after %v %d rows are left: %v", how, n, err)
		}
	}
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("a connection has survived the restart")
	}
}

func TestAFastStopOfPostgresEndsThoughAServerProcessHangs(t *testing.T) {
	m := New(t).Machine("db")
	db := m.Postgres()
	db.fast = time.Second
	conn, err := pgx.Connect(t.Context(), db.Local)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var pid int
	if err := conn.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	argv := m.inside("kill", "-STOP", fmt.Sprint(pid))
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	db.Stop(Fast)
	db.Start()
}

func TestTheWatchReportsTwoLiveAgentsAndIgnoresStoppedOnes(t *testing.T) {
	n := New(t)
	begin := func(name, run, attempt string) *Process {
		m := n.Machine(name)
		return m.Start(os.Environ(), m.Home, "env", "GAFFER_RUN="+run, "GAFFER_TASK=t1", "GAFFER_ATTEMPT="+attempt, "sleep", "1000")
	}
	first := begin("a", "r-watch-stopped", "a1")
	Eventually(t, 20*time.Second, "it has begun", func() bool { return len(agents("r-watch-stopped")) == 1 })
	first.Signal(syscall.SIGSTOP)
	w := WatchRun("r-watch-stopped")
	Eventually(t, 20*time.Second, "it is stopped", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.frozen["a1"] })
	begin("b", "r-watch-stopped", "a2")
	Eventually(t, 20*time.Second, "the other one lives", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.seen["a2"] })
	Eventually(t, 20*time.Second, "both are seen", func() bool { return len(w.Live()) == 2 })
	if doubles := w.Stop(); len(doubles) > 0 {
		t.Errorf("one is stopped, and the watch says %v", doubles)
	}
	w = WatchRun("r-watch-stopped")
	first.Signal(syscall.SIGCONT)
	Eventually(t, 20*time.Second, "both live", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.doubles) > 0 })
	if doubles := w.Stop(); len(doubles) != 1 || !strings.Contains(doubles[0], "task t1") {
		t.Errorf("the watch says %v", doubles)
	}
}

func TestTheStateOfAProcessFollowsFromWhatItCanStillDo(t *testing.T) {
	const flags, dying, none = "4194304", "4194308", "0000000000000000"
	for _, c := range []struct {
		state, flags, pending string
		want                  state
	}{
		{"R", flags, none, running},
		{"S", flags, none, running},
		{"D", flags, none, running},
		{"S", flags, "0000000000040000", running},
		{"T", flags, none, stopped},
		{"t", flags, none, stopped},
		{"D", flags, "0000000000040000", stopped},
		{"Z", flags, none, gone},
		{"X", flags, none, gone},
		{"R", dying, none, gone},
		{"T", flags, "0000000000000100", gone},
	} {
		stat := "12 (a) b) " + c.state + " 1 12 12 0 -1 " + c.flags + " 0 0"
		for _, set := range []string{"SigPnd:\t" + c.pending + "\nShdPnd:\t" + none, "SigPnd:\t" + none + "\nShdPnd:\t" + c.pending} {
			if got := stateOf(stat, "Name:\ta\n"+set+"\nSigBlk:\t"+none+"\n"); got != c.want {
				t.Errorf("%s with %s: %s, want %s", stat, set, got, c.want)
			}
		}
	}
	if got := stateOf("", ""); got != gone {
		t.Errorf("nothing is %s", got)
	}
}
