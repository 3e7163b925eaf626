package runs_test

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gaffer/fleet"

	"gaffer/coordinator"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/testkit/testenv"
)

// withFile makes all attempts write their log to one file, and returns a function that
// appends to it.
func (f *fixture) withFile() (write func(text string)) {
	f.file = filepath.Join(f.t.TempDir(), "api.log")
	return func(text string) {
		f.t.Helper()
		log, err := os.OpenFile(f.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		f.must(err)
		_, err = io.WriteString(log, text)
		f.must(err)
		f.must(log.Close())
	}
}

func TestALogThatIsInAFileAloneIsReadFromThere(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	onEach(t, func(f *fixture) {
		write := f.withFile()
		run := f.submit(shop()).ID
		first := f.claim()
		if got, span := f.readLog(run, coordinator.LogQuery{}); got != "" || span.From+span.To+span.Kept != 0 {
			t.Errorf("before it is there: %q, %+v", got, span)
		}
		write("one\n")
		f.finish(first, engine.Finish{Ending: fleet.Ending{Class: failure.VerifyFailed}})
		second := f.claim()
		write("two\n")
		for want, q := range map[string]coordinator.LogQuery{
			"one\ntwo\n": {}, "e\ntwo\n": {Offset: 2}, "two\n": {Offset: 4}, "o\n": {Tail: 2}, "": {Offset: 8}, "wo\n": {Offset: 5, Tail: 100},
		} {
			if got, span := f.readLog(run, q); got != want || span.To != 8 || span.From != 8-int64(len(want)) || span.Kept != 0 {
				t.Errorf("%+v: %q, %+v", q, got, span)
			}
		}
		_, _, err := f.Runs.Log(f.ctx, run, "api", coordinator.LogQuery{Offset: 9})
		f.refused("behind the end", err, 416, "has 8 bytes")

		body, _, err := f.Runs.Log(f.ctx, run, "api", coordinator.LogQuery{Offset: 4, Follow: true})
		f.must(err)
		defer body.Close()
		in := bufio.NewReader(body)
		for _, line := range []string{"two\n", "three\n", strings.Repeat("x", 1<<20) + "\n"} {
			if line != "two\n" {
				write(line)
			}
			if got, err := in.ReadString('\n'); err != nil || got != line {
				t.Fatalf("got %d bytes, %v; want %d", len(got), err, len(line))
			}
		}
		write("last")
		f.finish(second, engine.Finish{})
		if rest, err := io.ReadAll(in); err != nil || string(rest) != "last" {
			t.Errorf("the rest is %q, %v", rest, err)
		}
	})
}

func TestALogInTheStoreTakesPrecedenceOverAFile(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.withFile()("not this")
	run, _, _ := f.twice()
	if got, _ := f.readLog(run, coordinator.LogQuery{}); got != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
}

func TestALogThatIsNoRegularFileIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.withFile()
	run := f.submit(shop()).ID
	f.claim()
	secret := filepath.Join(t.TempDir(), "secret")
	f.must(os.WriteFile(secret, []byte("secret"), 0o600))
	for what, put := range map[string]func() error{
		"a pipe":   func() error { return syscall.Mkfifo(f.file, 0o600) },
		"a link":   func() error { return os.Symlink(secret, f.file) },
		"a folder": func() error { return os.Mkdir(f.file, 0o700) },
		"a device": func() error { return os.Symlink("/dev/zero", f.file) },
	} {
		f.must(put())
		for _, q := range []coordinator.LogQuery{{}, {Follow: true}, {Tail: 10}} {
			_, _, err := f.Runs.Log(f.ctx, run, "api", q)
			f.refused(what, err, 409, "cannot be read")
		}
		f.must(os.Remove(f.file))
	}
}

func TestALogThatIsCutWhileItIsReadIsNotTakenForAll(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	write := f.withFile()
	run := f.submit(shop()).ID
	f.claim()
	write(strings.Repeat("x", 64<<20))
	body, span, err := f.Runs.Log(f.ctx, run, "api", coordinator.LogQuery{})
	f.must(err)
	defer body.Close()
	f.must(os.Truncate(f.file, 10))
	if n, err := io.Copy(io.Discard, body); err == nil {
		t.Errorf("%d bytes of %d, and no error", n, span.To)
	}
}
