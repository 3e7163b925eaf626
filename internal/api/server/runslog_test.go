package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"gaffer/internal/api/credential"
)

// growingLog is a log that has new bytes at each read, until it has been read often.
type growingLog struct{ reads int }

func (l *growingLog) Next(context.Context) ([]byte, error) {
	if l.reads++; l.reads > 1000 {
		return nil, io.EOF
	}
	return []byte("more\n"), nil
}

// deadlineRecorder records an answer, and accepts deadlines.
type deadlineRecorder struct{ *httptest.ResponseRecorder }

func (deadlineRecorder) SetWriteDeadline(time.Time) error { return nil }

func TestALogThatKeepsGrowingIsCutOffToo(t *testing.T) {
	for name, c := range map[string]struct {
		size    int64
		prepare func(*world, *liveConnections)
		stops   bool
	}{
		"when the token is revoked": {-1, func(w *world, live *liveConnections) {
			live.ping = 0
			if _, err := w.book.Revoke(t.Context(), "the viewer"); err != nil {
				t.Fatal(err)
			}
		}, true},
		"when the server stops":                           {-1, func(_ *world, live *liveConnections) { close(live.stopping) }, true},
		"not when the server stops and its size is known": {100, func(_ *world, live *liveConnections) { close(live.stopping) }, false},
	} {
		w := start(t, nil)
		by, err := w.book.Check(t.Context(), w.tokens[credential.Viewer])
		if err != nil {
			t.Fatal(err)
		}
		live := &liveConnections{tokens: w.book, ping: time.Hour, send: time.Hour, stopping: make(chan struct{})}
		c.prepare(w, live)
		out := deadlineRecorder{httptest.NewRecorder()}
		writer := &logWriter{live: live, c: &request{w: &statusRecorder{ResponseWriter: out}, by: by}, out: http.NewResponseController(out)}
		if err := writer.copy(t.Context(), &growingLog{}, c.size); errors.Is(err, context.Canceled) != c.stops {
			t.Errorf("%s: %v", name, err)
		}
	}
}
