package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"gaffer/coordinator"
)

// Log reads the log of a task piece by piece, from some offset on.
type Log interface {
	// Next returns the next bytes of the log. If there are none yet, it returns no bytes and no
	// error. At the end of the log it returns io.EOF.
	Next(ctx context.Context) ([]byte, error)
}

// RangeError is returned by [Runs.Log] if the requested offset is beyond the end of the log.
type RangeError struct{ Size int64 }

func (e *RangeError) Error() string {
	return fmt.Sprintf("the log has %d bytes: nothing begins after them", e.Size)
}

// taskLog answers with a part of a task's log, or sends the log as it grows.
func (h *runHandlers) taskLog(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	q, err := c.logQuery()
	if err != nil {
		return err
	}
	part := c.byteRange(&q)
	ctx, cancel := c.context()
	defer cancel()
	log, span, err := h.runs.Log(ctx, run, task, q)
	if outside, ok := errors.AsType[*RangeError](err); ok {
		p := refuse(http.StatusRequestedRangeNotSatisfiable, "invalid_range", outside.Error())
		p.header = map[string]string{"Content-Range": fmt.Sprintf("bytes */%d", outside.Size)}
		return p
	}
	if err != nil {
		return err
	}
	c.quiet = true
	return h.sendLog(c, log, span, q.Follow, part)
}

func (c *request) logQuery() (q coordinator.LogQuery, err error) {
	query := c.r.URL.Query()
	for name, to := range map[string]*int64{"offset": &q.Offset, "tail": &q.Tail} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		if *to, err = strconv.ParseInt(text, 10, 64); err != nil || *to < 0 {
			return q, refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("%s %.20q: want a number of bytes", name, text))
		}
	}
	q.Follow = c.flag("follow")
	return q, nil
}

// byteCount is how many bytes a Range header requests. If the header requests all bytes up to the
// end of the log, the field bytes is negative. If the request has no Range header, or one that is
// ignored, the field asked is false and bytes is negative, too.
type byteCount struct {
	asked bool
	bytes int64
}

// byteRange sets the offsets of q from a Range header with one range, such as "bytes=100-", and
// returns how many bytes the header requests. As HTTP allows, it ignores a header with several
// ranges, and any header if the client follows the log.
func (c *request) byteRange(q *coordinator.LogQuery) byteCount {
	text, ok := strings.CutPrefix(c.r.Header.Get("Range"), "bytes=")
	if !ok || strings.Contains(text, ",") || q.Follow {
		return byteCount{bytes: -1}
	}
	first, last, ok := strings.Cut(strings.TrimSpace(text), "-")
	from, err1 := strconv.ParseUint(first, 10, 62)
	to, err2 := strconv.ParseUint(last, 10, 62)
	switch {
	case ok && first == "" && err2 == nil && to > 0:
		q.Offset, q.Tail = 0, int64(to)
		return byteCount{true, -1}
	case ok && last == "" && err1 == nil:
		q.Offset, q.Tail = int64(from), 0
		return byteCount{true, -1}
	case ok && err1 == nil && err2 == nil && from <= to:
		q.Offset, q.Tail = int64(from), 0
		return byteCount{true, int64(to-from) + 1}
	}
	return byteCount{bytes: -1}
}

// sendLog writes the answer with a log. The content type is always plain text, so that a browser
// does not run HTML or scripts that an agent wrote.
func (h *runHandlers) sendLog(c *request, log Log, span coordinator.LogSpan, follow bool, of byteCount) error {
	size := span.To - span.From
	if of.bytes >= 0 {
		size = min(size, of.bytes)
	}
	status := http.StatusOK
	header := c.w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Accept-Ranges", "bytes")
	header.Set(coordinator.LogFrom, strconv.FormatInt(span.From, 10))
	header.Set(coordinator.LogTo, strconv.FormatInt(span.To, 10))
	header.Set(coordinator.LogKept, strconv.FormatInt(span.Kept, 10))
	header.Set(coordinator.LogStarts, attemptStarts(span))
	switch {
	case follow:
		header.Set("X-Accel-Buffering", "no") // without this header a proxy may delay new output
	case of.asked && size == 0:
		p := refuse(http.StatusRequestedRangeNotSatisfiable, "invalid_range", "the log has nothing there")
		p.header = map[string]string{"Content-Range": fmt.Sprintf("bytes */%d", span.To)}
		return p
	case of.asked:
		status = http.StatusPartialContent
		header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", span.From, span.From+size-1, span.To))
		header.Set("Content-Length", strconv.FormatInt(size, 10))
	default:
		header.Set("Content-Length", strconv.FormatInt(size, 10))
	}
	out := &logWriter{live: h.live, c: c, out: http.NewResponseController(c.w)}
	if follow {
		if err := out.out.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
		size = -1
	}
	c.w.WriteHeader(status)
	if c.r.Method == http.MethodHead {
		return nil
	}
	if err := out.copy(c.r.Context(), log, size); err != nil {
		return fmt.Errorf("%w: %w", errIncomplete, err)
	}
	return nil
}

func attemptStarts(span coordinator.LogSpan) string {
	var b strings.Builder
	for i, s := range span.Starts {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d=%d", s.Attempt, s.At)
	}
	return b.String()
}

// logWriter sends a log to a client.
type logWriter struct {
	live *liveConnections
	c    *request
	out  *http.ResponseController
}

const (
	minLogInterval = 200 * time.Millisecond // shortest pause between two reads of a growing log
	maxLogInterval = 2 * time.Second        // longest pause between two reads of a growing log
)

// copy sends the next size bytes of a log. If size is negative, it sends everything up to the end
// of the log. While the log of a running task has no new bytes, copy waits. It returns an error if
// the client's token is revoked or expires. It also returns an error if the server stops while copy
// waits, or while the client follows the log.
func (w *logWriter) copy(ctx context.Context, log Log, size int64) error {
	wait, checked := minLogInterval, time.Now()
	if err := w.flush(nil); err != nil {
		return err
	}
	for size != 0 {
		data, err := nextLogBytes(ctx, log)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if size > 0 {
			data = data[:min(int64(len(data)), size)]
			size -= int64(len(data))
		}
		if len(data) > 0 {
			wait = minLogInterval
			if err := w.flush(data); err != nil {
				return err
			}
		}
		if time.Since(checked) > w.live.ping {
			checked = time.Now()
			if w.live.revoked(ctx, w.c.by) {
				return context.Canceled
			}
		}
		if len(data) > 0 { // do not wait, because the log may already have more data
			if size < 0 && w.live.stopped() {
				return context.Canceled
			}
			continue
		}
		select {
		case <-time.After(wait):
		case <-w.live.stopping:
			return context.Canceled
		case <-ctx.Done():
			return ctx.Err()
		}
		wait = min(wait*3/2, maxLogInterval)
	}
	return nil
}

func nextLogBytes(ctx context.Context, log Log) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	return log.Next(ctx)
}

// flush writes data, which may be nil, and sends everything that is still buffered to the client.
func (w *logWriter) flush(data []byte) error {
	if err := w.out.SetWriteDeadline(time.Now().Add(w.live.send)); err != nil {
		return err
	}
	if _, err := w.c.w.Write(data); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	// Clear the write deadline: with HTTP/2, a write deadline that expires ends even an idle
	// stream.
	return w.out.SetWriteDeadline(time.Time{})
}
