package runs_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"

	"gaffer/coordinator"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/testkit/testenv"
)

const plenty = 1 << 20

// twice submits a run with a task that has two attempts, and returns both.
func (f *fixture) twice() (run string, first, second engine.Assignment) {
	f.t.Helper()
	run = f.submit(shop()).ID
	first = f.claim()
	f.write(first.Attempt.ID, "one\n", plenty, true)
	f.finish(first, engine.Finish{Ending: fleet.Ending{Class: failure.VerifyFailed}})
	second = f.claim()
	f.write(second.Attempt.ID, "two\n", plenty, false)
	return run, first, second
}

func (f *fixture) readLog(run string, q coordinator.LogQuery) (string, coordinator.LogSpan) {
	f.t.Helper()
	body, span, err := f.Runs.Log(f.ctx, run, "api", q)
	f.must(err)
	defer body.Close()
	text, err := io.ReadAll(body)
	f.must(err)
	return string(text), span
}

func TestALogIsWhatTheAttemptsWroteOneAfterTheOther(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run, _, _ := f.twice()
		for want, q := range map[string]coordinator.LogQuery{
			"one\ntwo\n": {}, "e\ntwo\n": {Offset: 2}, "two\n": {Offset: 4}, "o\n": {Tail: 2}, "": {Offset: 8}, "wo\n": {Offset: 5, Tail: 100},
		} {
			got, span := f.readLog(run, q)
			if got != want || span.To != 8 || span.From != 8-int64(len(want)) || span.Kept != 0 || !slices.Equal(span.Starts, []coordinator.LogStart{{Attempt: 1, At: 0}, {Attempt: 2, At: 4}}) {
				t.Errorf("%+v: %q, %+v", q, got, span)
			}
		}
		_, _, err := f.Runs.Log(f.ctx, run, "api", coordinator.LogQuery{Offset: 9})
		f.refused("behind the end", err, 416, "has 8 bytes")
		if got, span := f.readLog(f.submit(shop()).ID, coordinator.LogQuery{}); got != "" || span.From+span.To+span.Kept != 0 || span.Starts != nil {
			t.Errorf("of a task that has not begun: %q, %+v", got, span)
		}
	})
}

func TestALogBeginsWithWhatIsKept(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run, _, second := f.twice()
		for range 40 {
			f.write(second.Attempt.ID, strings.Repeat("x", 8191)+"\n", 64<<10, false)
		}
		from, to, err := spanIn(f, second.Attempt.ID)
		f.must(err)
		if from == 0 {
			t.Fatal("all is kept")
		}
		got, span := f.readLog(run, coordinator.LogQuery{Offset: 1})
		if span.From != 4+from || span.Kept != 4+from || span.To != 4+to || int64(len(got)) != to-from {
			t.Errorf("%d bytes, %+v; %d to %d are kept of the last attempt", len(got), span, from, to)
		}
	})
}

// reply is an HTTP answer whose body was read completely.
type reply struct {
	status int
	header http.Header
	body   string
}

func (f *fixture) get(path string, header ...string) reply {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.ctx, http.MethodGet, f.url+path, nil)
	f.must(err)
	r.Header.Set("Authorization", "Bearer "+f.token)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	f.must(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	f.must(err)
	return reply{res.StatusCode, res.Header, string(body)}
}

func TestARangeOfALog(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run, _, _ := f.twice()
	path := "/v1/runs/" + run + "/tasks/api/log"
	for asked, want := range map[string]struct {
		status int
		is     string
		body   string
	}{
		"":              {200, "", "one\ntwo\n"},
		"bytes=0-2":     {206, "bytes 0-2/8", "one"},
		"bytes=4-":      {206, "bytes 4-7/8", "two\n"},
		"bytes=-3":      {206, "bytes 5-7/8", "wo\n"},
		"bytes=6-1000":  {206, "bytes 6-7/8", "o\n"},
		"bytes=8-":      {416, "bytes */8", ""},
		"bytes=100-200": {416, "bytes */8", ""},
		"bytes=3-1":     {200, "", "one\ntwo\n"},
		"bytes=0-1,3-4": {200, "", "one\ntwo\n"},
		"lines=1-2":     {200, "", "one\ntwo\n"},
		"bytes=--1":     {200, "", "one\ntwo\n"},
	} {
		res := f.get(path, "Range", asked)
		if res.status != want.status || res.header.Get("Content-Range") != want.is || want.status < 300 && res.body != want.body {
			t.Errorf("%q: %d %s %q", asked, res.status, res.header.Get("Content-Range"), res.body)
		}
	}
}

func TestALogIsSentAsPlainTextWhateverItContains(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run := f.submit(shop()).ID
	evil := "<script>alert(1)</script>\x1b[31m\x00\xff\r\n"
	f.write(f.claim().Attempt.ID, evil, plenty, false)
	res := f.get("/v1/runs/" + run + "/tasks/api/log")
	if res.body != evil || res.header.Get("Content-Type") != "text/plain; charset=utf-8" || res.header.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.HasPrefix(res.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%q %v", res.body, res.header)
	}
	for _, q := range []string{"?offset=-1", "?offset=x", "?tail=-5", "?offset=99999999999999999999"} {
		if res := f.get("/v1/runs/" + run + "/tasks/api/log" + q); res.status != 400 {
			t.Errorf("%s: %d", q, res.status)
		}
	}
}

// follow starts to follow a log. Each line that it receives is sent to lines.
func (f *fixture) follow(run string, q coordinator.LogQuery) (lines chan string) {
	f.t.Helper()
	q.Follow = true
	body, _, err := f.Runs.Log(f.ctx, run, "api", q)
	f.must(err)
	lines = make(chan string)
	go func() {
		defer close(lines)
		defer body.Close()
		buffer := make([]byte, 4096)
		for {
			n, err := body.Read(buffer)
			if n > 0 {
				lines <- string(buffer[:n])
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				lines <- "error: " + err.Error()
				return
			}
		}
	}()
	return lines
}

// expect waits until the lines received so far equal a text.
func (f *fixture) expect(lines chan string, want string) {
	f.t.Helper()
	limit := time.After(testenv.Patience)
	for got := ""; got != want; {
		select {
		case text, more := <-lines:
			got += text
			if !more || !strings.HasPrefix(want, got) {
				f.t.Fatalf("got %q, want %q", got, want)
			}
		case <-limit:
			f.t.Fatalf("never more than %q, want %q", got, want)
		}
	}
}

func (f *fixture) expectEnd(lines chan string) {
	f.t.Helper()
	select {
	case text, more := <-lines:
		if more {
			f.t.Fatalf("it goes on with %q", text)
		}
	case <-time.After(testenv.Patience):
		f.t.Fatal("it does not end")
	}
}

func TestALogIsFollowedUntilItsAttemptHasEndedAndAllIsSent(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	onEach(t, func(f *fixture) {
		run, _, second := f.twice()
		lines := f.follow(run, coordinator.LogQuery{Offset: 2})
		f.expect(lines, "e\ntwo\n")
		f.write(second.Attempt.ID, "more\n", plenty, false)
		f.expect(lines, "more\n")
		f.finish(second, engine.Finish{})
		f.write(second.Attempt.ID, "the last\n", plenty, true) // output that the worker sent after the end of the attempt
		f.expect(lines, "the last\n")
		f.expectEnd(lines)
	})
}

func TestTheLastWordsOfAnAttemptAreWaitedForBeforeTheNextIsFollowed(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	onEach(t, func(f *fixture) {
		run := f.submit(shop()).ID
		first := f.claim()
		f.write(first.Attempt.ID, "one\n", plenty, false)
		f.finish(first, engine.Finish{Ending: fleet.Ending{Class: failure.VerifyFailed}})
		second := f.claim()
		f.write(second.Attempt.ID, "two\n", plenty, false)
		whole, after := f.follow(run, coordinator.LogQuery{}), f.follow(run, coordinator.LogQuery{Offset: 4})
		f.expect(whole, "one\n")
		f.write(first.Attempt.ID, "and more\n", plenty, true)
		f.expect(whole, "and more\ntwo\n")
		f.expect(after, "and more\ntwo\n")
		f.finish(second, engine.Finish{Ending: fleet.Ending{Class: failure.VerifyFailed}})
		f.must(f.Runs.Retry(f.ctx, run, "api"))
		third := f.claim()
		f.write(third.Attempt.ID, "three\n", plenty, true)
		late := f.follow(run, coordinator.LogQuery{Offset: 17})
		f.pass(time.Minute) // the second attempt sends no more output
		f.expect(late, "three\n")
	})
}

func TestAFollowedLogEndsAfterADelayIfItsWorkerNeverReportsItsEnd(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run, _, second := f.twice()
	lines := f.follow(run, coordinator.LogQuery{})
	f.expect(lines, "one\ntwo\n")
	f.finish(second, engine.Finish{Ending: fleet.Ending{Class: failure.Lost}})
	end := time.Now().Add(testenv.Patience)
	for {
		select {
		case text, more := <-lines:
			if !more {
				return
			}
			t.Fatalf("it goes on with %q", text)
		case <-time.After(100 * time.Millisecond):
			f.pass(time.Second)
		}
		if time.Now().After(end) {
			t.Fatal("it does not end")
		}
	}
}

func TestATaskThatHasNotBegunIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run := f.submit(shop()).ID
	lines := f.follow(run, coordinator.LogQuery{})
	a := f.claim()
	f.write(a.Attempt.ID, "hello\n", plenty, false)
	f.expect(lines, "hello\n")
	f.must(f.Runs.Cancel(f.ctx, run, "api", ""))
	f.finish(a, engine.Finish{Ending: fleet.Ending{Class: failure.Cancelled}})
	f.write(a.Attempt.ID, "", plenty, true)
	f.expectEnd(lines)

	never := f.submit(shop()).ID
	lines = f.follow(never, coordinator.LogQuery{})
	f.must(f.Runs.Cancel(f.ctx, never, "api", ""))
	f.expectEnd(lines)
}

func TestALogThatIsForgottenWhileItIsFollowedIsTornAndNotEnded(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run := f.submit(shop()).ID
	a := f.claim()
	f.write(a.Attempt.ID, "begin\n", plenty, false)
	body, _, err := f.Runs.Log(f.ctx, run, "api", coordinator.LogQuery{Follow: true})
	f.must(err)
	defer body.Close()
	if _, err := io.ReadFull(body, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	f.write(a.Attempt.ID, strings.Repeat("x", 4<<20), 64<<10, false) // longer than the 64 KB that are kept, in one write
	_, err = io.Copy(io.Discard, body)
	if err == nil {
		t.Error("it ended as if that were all")
	}
}

func TestManyFollowersAndAServerThatStops(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run, _, _ := f.twice()
	var all []chan string
	for range 20 {
		all = append(all, f.follow(run, coordinator.LogQuery{}))
	}
	for _, lines := range all {
		f.expect(lines, "one\ntwo\n")
	}
	f.stop()
	for _, lines := range all {
		if text := <-lines; !strings.HasPrefix(text, "error: ") {
			t.Errorf("a server that stops is taken for the end: %q", text)
		}
	}
}
