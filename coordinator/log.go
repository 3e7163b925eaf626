package coordinator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// LogQuery says which part of a task's log is wanted. Its zero value wants all
// that there is now.
type LogQuery struct {
	Offset int64 // of the first byte
	Tail   int64 // only so many bytes at the end; 0 for all
	Follow bool  // also what comes, until nothing more will
}

// LogSpan is which part of a log an answer has.
type LogSpan struct {
	From int64 // of the first byte that is sent
	To   int64 // where the log ended when it was asked for
	Kept int64 // of the first byte that the coordinator still has

	Starts []LogStart // of the latest attempts
}

// LogStart is where an attempt begins in the log of its task.
type LogStart struct {
	Attempt int
	At      int64
}

// Log returns the log of a task: what its attempts wrote, one after the other. The
// text is as the agent's program wrote it and may hold anything. Offsets count
// bytes of the whole. A log that is followed ends when nothing more will come, and
// may be torn before; then it can be gone on with from where it was.
func (c *Client) Log(ctx context.Context, run, task string, q LogQuery) (io.ReadCloser, LogSpan, error) {
	query := set(url.Values{}, "offset", size(q.Offset), "tail", size(q.Tail), "follow", flag(q.Follow))
	ask := get(query, "v1", "runs", run, "tasks", task, "log")
	var body io.ReadCloser
	var span LogSpan
	// Not as one that is safe: what is read outlives the visit.
	err := c.visit(ctx, false, func(ctx context.Context, at *address) (err error) {
		body, span, err = c.openLog(ctx, at.URL, ask)
		return err
	})
	if err != nil {
		return nil, LogSpan{}, fmt.Errorf("%s: %w", ask, err)
	}
	return body, span, nil
}

// openLog waits for the answer's beginning as for that of any other, and then for as
// long as the log takes.
func (c *Client) openLog(ctx context.Context, base *url.URL, q call) (io.ReadCloser, LogSpan, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(c.opt.Timeout, func() { cancel(errNoAnswer) })
	body, span, err := c.beginLog(ctx, base, q)
	if !late.Stop() && err == nil {
		_ = body.Close() // which has been cut off
		err = errNoAnswer
	}
	if err != nil {
		cancel(nil)
		return nil, LogSpan{}, err
	}
	return &logBody{body, cancel}, span, nil
}

func (c *Client) beginLog(ctx context.Context, base *url.URL, q call) (io.ReadCloser, LogSpan, error) {
	req, err := c.request(ctx, base, q)
	if err != nil {
		return nil, LogSpan{}, err
	}
	req.Header.Set("Accept-Encoding", "identity") // a compressor would hold what comes back
	res, err := c.http.Do(req)
	if err != nil {
		return nil, LogSpan{}, reason(ctx, err)
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, LogSpan{}, c.refused(res)
	}
	return res.Body, spanOf(res.Header), nil
}

// logBody ends its request when it is closed.
type logBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *logBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// The headers that say which part of a log an answer has.
const (
	LogFrom = "Gaffer-Log-From"
	LogTo   = "Gaffer-Log-To"
	LogKept = "Gaffer-Log-Kept"
	// LogStarts has where the latest attempts begin, such as 1=0,2=18230.
	LogStarts = "Gaffer-Log-Starts"
)

func spanOf(h http.Header) LogSpan {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(h.Get(name), 10, 64) // one that is missing is 0
		return max(n, 0)
	}
	return LogSpan{From: number(LogFrom), To: number(LogTo), Kept: number(LogKept), Starts: startsOf(h.Get(LogStarts))}
}

// startsOf reads what it can of a header.
func startsOf(text string) (list []LogStart) {
	for part := range strings.SplitSeq(text, ",") {
		attempt, at, _ := strings.Cut(part, "=")
		n, err1 := strconv.Atoi(attempt)
		offset, err2 := strconv.ParseInt(at, 10, 64)
		if err1 == nil && err2 == nil && offset >= 0 {
			list = append(list, LogStart{n, offset})
		}
	}
	return list
}

func size(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
