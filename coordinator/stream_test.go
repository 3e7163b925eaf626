package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

var errEnough = errors.New("enough")

// follow reads at most the given number of changes from a stream. It returns each change as a text,
// such as "4! tasks": the id, a ! if there is a gap, and the type.
func follow(t *testing.T, c *Client, from StreamQuery, most int) (changes []string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	err = c.Stream(ctx, from, func(change Change) error {
		text := change.ID + " " + change.Type
		if change.Gap {
			text = change.ID + "! " + change.Type
		}
		if changes = append(changes, strings.TrimSpace(text)); len(changes) == most {
			return errEnough
		}
		return nil
	})
	return changes, err
}

func expect(t *testing.T, c *Client, from StreamQuery, want ...string) {
	t.Helper()
	changes, err := follow(t, c, from, len(want))
	if !errors.Is(err, errEnough) || strings.Join(changes, ", ") != strings.Join(want, ", ") {
		t.Errorf("the stream sent %q and ended with %v, want %q", changes, err, want)
	}
}

// script serves one of the texts on each connection, in order, and then leaves the connection open.
// If a text ends with #, script closes the connection.
func script(texts ...string) http.HandlerFunc {
	var connection atomic.Int32
	return func(w http.ResponseWriter, q *http.Request) {
		n := int(connection.Add(1)) - 1
		if n >= len(texts) {
			<-q.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		text, torn := strings.CutSuffix(texts[n], "#")
		_, _ = io.WriteString(w, text)
		flush(w)
		if !torn {
			<-q.Context().Done()
		}
	}
}

func event(id int) string {
	return fmt.Sprintf("id: %d\nevent: update\ndata: {\"type\":\"tasks\",\"time\":\"2026-02-06T12:00:00Z\",\"change\":{\"id\":\"t%d\"}}\n\n", id, id)
}

func TestABrokenStreamContinuesAfterItsLastChange(t *testing.T) {
	const last = 20
	torn := 0
	withClient(t, func(w http.ResponseWriter, q *http.Request) {
		after, err := strconv.Atoi(q.Header.Get("Last-Event-ID"))
		if err != nil {
			t.Errorf("asked to go on after %q", q.Header.Get("Last-Event-ID"))
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: %d\nevent: hello\ndata: {}\n\n", after)
		for id := after + 1; id <= min(after+3, last); id++ {
			_, _ = io.WriteString(w, event(id))
		}
		half := event(after + 4)
		torn++
		_, _ = io.WriteString(w, half[:len(half)*(torn%5)/5]) // cut off at another position each time
	}, Options{}, func(t *testing.T, c *Client) {
		var want []string
		for id := 3; id <= last; id++ {
			want = append(want, fmt.Sprintf("%d tasks", id))
		}
		start := time.Now()
		expect(t, c, StreamQuery{After: "2"}, want...)
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("connections that sent something were replaced after %s in all", took)
		}
	})
}

func TestAStreamWithoutPingsIsReplaced(t *testing.T) {
	for what, said := range map[string]string{"nothing": "", "hello": "event: hello\nid: 4\ndata: {}\n\n", "half a line": "event: hello\nid: 4\n\ndata: {"} {
		withClient(t, script(said, event(5)), Options{}, func(t *testing.T, c *Client) {
			start := time.Now()
			expect(t, c, StreamQuery{After: "4"}, "5 tasks")
			if took := time.Since(start); took < 45*time.Second || took > 50*time.Second {
				t.Errorf("after %s the next connection was made after %s", what, took)
			}
		})
	}
}

func TestAStreamWithoutAResponseHeaderIsReplaced(t *testing.T) {
	var hits atomic.Int32
	withClient(t, firstThen(&hits, troubles["a hang"], script(event(1))), Options{}, func(t *testing.T, c *Client) {
		expect(t, c, StreamQuery{}, "1 tasks")
	})
}

func TestIncompleteLinesDoNotKeepAConnectionAlive(t *testing.T) {
	var hits atomic.Int32
	drip := func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 1000 {
			_, _ = io.WriteString(w, "x")
			flush(w)
			if !sleep(q.Context(), time.Second) {
				return
			}
		}
		t.Error("the connection was kept for 1000 s")
	}
	withClient(t, firstThen(&hits, drip, script(event(1))), Options{}, func(t *testing.T, c *Client) {
		expect(t, c, StreamQuery{}, "1 tasks")
	})
}

func TestPingsKeepAConnection(t *testing.T) {
	var hits atomic.Int32
	withClient(t, func(w http.ResponseWriter, q *http.Request) {
		hits.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		for range 100 {
			_, _ = io.WriteString(w, ": ping\n\n")
			flush(w)
			if !sleep(q.Context(), 15*time.Second) {
				return
			}
		}
		_, _ = io.WriteString(w, event(1))
		flush(w)
		<-q.Context().Done()
	}, Options{}, func(t *testing.T, c *Client) {
		expect(t, c, StreamQuery{}, "1 tasks")
		if hits.Load() != 1 {
			t.Errorf("%d connections", hits.Load())
		}
	})
}

func TestASlowReaderOfAStreamIsNotDisconnected(t *testing.T) {
	var hits atomic.Int32
	slow := func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, event(1))
		flush(w)
		sleep(q.Context(), 10*time.Minute+20*time.Second)
		_, _ = io.WriteString(w, event(2))
		flush(w)
		<-q.Context().Done()
	}
	withClient(t, firstThen(&hits, slow, troubles["500"]), Options{}, func(t *testing.T, c *Client) {
		changes := 0
		err := c.Stream(t.Context(), StreamQuery{}, func(Change) error {
			time.Sleep(10 * time.Minute)
			if changes++; changes == 2 {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) || hits.Load() != 1 {
			t.Errorf("%d connections, and the end was %v", hits.Load(), err)
		}
	})
}

func TestAGapIsReported(t *testing.T) {
	hello := func(id string) string { return "id: " + id + "\nevent: hello\ndata: {}\n\n" }
	seen := "event: seen\ndata: {\"time\":\"2026-02-06T12:00:00Z\",\"seen\":{\"a\":\"2026-02-06T12:00:00Z\"}}\n\n"
	plain := "event: update\ndata: {\"type\":\"agents\"}\n\n"
	long := "id: 6\nevent: update\ndata: {" + strings.Repeat(" ", longestMessage) + "\"type\":\"tasks\"}\n\n"
	many := "id: 6\nevent: update\ndata: {\n" + strings.Repeat("data: "+strings.Repeat(" ", 1<<20)+"\n", 9) + "data: \"type\":\"tasks\"}\n\n"
	for what, of := range map[string]struct {
		after string
		said  []string
		want  []string
	}{
		"goes on from where it was asked to":    {"4", []string{hello("4") + event(5)}, []string{"5 tasks"}},
		"begins with what comes next":           {"", []string{hello("4") + event(5)}, []string{"5 tasks"}},
		"no longer has what followed":           {"4", []string{hello("9") + event(10)}, []string{"9!", "10 tasks"}},
		"began anew":                            {"4", []string{hello("1") + event(2)}, []string{"1!", "2 tasks"}},
		"began anew and does not say":           {"4", []string{event(2) + event(3)}, []string{"2! tasks", "3 tasks"}},
		"says what is known again":              {"4", []string{event(4) + event(5)}, []string{"5 tasks"}},
		"sends two changes under one number":    {"4", []string{event(5) + event(5) + event(6)}, []string{"5 tasks", "5 tasks", "6 tasks"}},
		"gives no ids and tears":                {"", []string{plain + "#", "event: hello\ndata: {}\n\n" + plain}, []string{"agents", "!", "agents"}},
		"gives no ids, no hello, and tears":     {"", []string{plain + "#", plain}, []string{"agents", "! agents"}},
		"tears before anything was said":        {"", []string{"#", hello("4") + event(5)}, []string{"5 tasks"}},
		"tears after hello":                     {"", []string{hello("4") + "#", hello("4") + event(5)}, []string{"5 tasks"}},
		"sends a line that is too long":         {"", []string{event(5) + long + event(7)}, []string{"5 tasks", "6!", "7 tasks"}},
		"sends a change that is too long":       {"", []string{event(5) + many + event(7)}, []string{"5 tasks", "6!", "7 tasks"}},
		"sends what is not JSON":                {"", []string{"id: 5\nevent: update\ndata: {\n\n" + event(6)}, []string{"5!", "6 tasks"}},
		"sends events that are not ours":        {"", []string{"id: 5\nevent: notification\ndata: {}\n\n" + event(6)}, []string{"6 tasks"}},
		"repeats a torn number":                 {"", []string{event(5) + "id: 6\nevent: upd#", event(6)}, []string{"5 tasks", "6 tasks"}},
		"sends who was seen":                    {"4", []string{hello("4") + seen + event(4) + event(5) + seen + "#", hello("5") + seen + event(6)}, []string{"seen", "5 tasks", "seen", "seen", "6 tasks"}},
		"sends invalid seen data":               {"4", []string{hello("4") + "event: seen\ndata: [\n\n" + event(5)}, []string{"5 tasks"}},
		"tears twice and then goes on with ids": {"5", []string{"#", "#", hello("5") + event(6)}, []string{"6 tasks"}},
	} {
		t.Run(what, func(t *testing.T) {
			withClient(t, script(of.said...), Options{}, func(t *testing.T, c *Client) {
				expect(t, c, StreamQuery{After: of.after}, of.want...)
			})
		})
	}
}

func TestARefusedStreamEnds(t *testing.T) {
	for status, want := range map[int]func(*Error) bool{401: (*Error).Denied, 403: (*Error).Denied, 404: (*Error).NotFound, 400: (*Error).Invalid, 204: func(e *Error) bool { return e.Status == 204 }} {
		withClient(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }, Options{}, func(t *testing.T, c *Client) {
			if _, err := follow(t, c, StreamQuery{}, 1); !want(refused(t, err)) {
				t.Errorf("status %d: %v", status, err)
			}
		})
	}
	withClient(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>log in") }, Options{}, func(t *testing.T, c *Client) {
		if _, err := follow(t, c, StreamQuery{}, 1); refused(t, err).Code != BadAnswer {
			t.Errorf("a page: %v", err)
		}
	})
}

func TestAStreamSurvivesACoordinatorThatIsAway(t *testing.T) {
	for _, trouble := range []string{"500", "502 in HTML", "429", "a tear", "a torn header", "not HTTP", "a hang"} {
		handle := troubles[trouble]
		var hits atomic.Int32
		away := func(w http.ResponseWriter, q *http.Request) {
			if hits.Add(1) < 20 {
				handle(w, q)
				return
			}
			script(event(1))(w, q)
		}
		withClient(t, away, Options{}, func(t *testing.T, c *Client) {
			start := time.Now()
			expect(t, c, StreamQuery{}, "1 tasks")
			if took := time.Since(start); took < time.Minute {
				t.Errorf("%s: 20 connections in %s", trouble, took)
			}
		})
	}
}

func TestAStreamRequestContainsItsFilters(t *testing.T) {
	withClient(t, func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Accept-Encoding") != "identity" || q.Header.Get("Accept") != "text/event-stream" || q.Header.Get("Last-Event-ID") != "4" {
			t.Errorf("the header is %v", q.Header)
		}
		if q.URL.Query().Get("project") != "p & q" || q.URL.Query().Get("run") != "r" {
			t.Errorf("the query is %s", q.URL.RawQuery)
		}
		script(event(5))(w, q)
	}, Options{}, func(t *testing.T, c *Client) {
		expect(t, c, StreamQuery{After: "4", Project: "p & q", Run: "r"}, "5 tasks")
	})
}

func TestAStreamEndsWithItsContext(t *testing.T) {
	for what, handle := range map[string]http.HandlerFunc{"open": script(event(1)), "away": troubles["500"], "hanging": troubles["a hang"]} {
		withClient(t, handle, Options{}, func(t *testing.T, c *Client) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if err := c.Stream(ctx, StreamQuery{}, func(Change) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: ended with %v", what, err)
			}
		})
	}
}

func TestAServerSetsThePauseBeforeAReconnect(t *testing.T) {
	withClient(t, script("retry: 9000\n\n#", event(1)), Options{}, func(t *testing.T, c *Client) {
		start := time.Now()
		changes, err := follow(t, c, StreamQuery{}, 1)
		if took := time.Since(start); took < 9*time.Second || took > 12*time.Second {
			t.Errorf("took %s; changes %q, %v", took, changes, err)
		}
	})
}

func TestMessagesAreReadInEveryFormTheyMayHave(t *testing.T) {
	for text, want := range map[string]string{
		"data: a\n\n":                           "||a",
		"data:a\r\ndata: b\r\n\r\n":             "||a\nb",
		"\ufeffevent: x\nid: 1\ndata\n\n":       "x|1|",
		": c\n\nid\nevent:  y\nother: z\n\n":    " y||",
		"id: a\x00b\ndata: z\n\n":               "||z",
		"\n\n\n: ping\n\nretry: x\ndata: q\n\n": "||q",
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "in bytes": iotest.OneByteReader(strings.NewReader(text))} {
			m, err := newMessages(r, 1000, func() {}).next()
			if got := m.name + "|" + m.id + "|" + string(m.data); got != want || err != nil {
				t.Errorf("%q %s: %q, %v, want %q", text, name, got, err, want)
			}
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte("id: 1\nevent: update\ndata: {}\n\n: ping\n\n"))
	f.Add([]byte("data: " + strings.Repeat("x", 300) + "\r\n\r\nid: 2\n\n"))
	f.Add([]byte("event: " + strings.Repeat("x", 300) + "\n\nid: " + strings.Repeat("y", 5000) + "\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 100
		whole := newMessages(bytes.NewReader(data), limit, func() {})
		bits := newMessages(iotest.OneByteReader(bytes.NewReader(data)), limit, func() {})
		for {
			a, errA := whole.next()
			b, errB := bits.next()
			if !errors.Is(errA, errB) || a.name != b.name || a.id != b.id || a.cut != b.cut || !bytes.Equal(a.data, b.data) {
				t.Fatalf("read at once %+v, %v; in bytes %+v, %v", a, errA, b, errB)
			}
			if len(a.data) > limit+bytes.Count(data, []byte("\n")) || len(a.name) > limit || len(a.id) > limit {
				t.Fatalf("longer than the limit: %+v", a)
			}
			if errA != nil {
				return
			}
		}
	})
}
