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

// LogQuery selects a part of a task's log. Its zero value selects everything that the log contains
// at the time of the request.
type LogQuery struct {
	Offset int64 // offset of the first byte to return
	Tail   int64 // return only the last Tail bytes; 0 means all
	Follow bool  // also return later output, until the log is complete
}

// LogSpan describes which part of a log an answer contains.
type LogSpan struct {
	From int64 // offset of the first byte sent
	To   int64 // length of the log at the time of the request
	Kept int64 // offset of the first byte that the coordinator has not deleted

	Starts []LogStart // where the output of each of the latest attempts starts
}

// LogStart says at which offset in a task's log the output of an attempt starts. Attempt is the
// number of the attempt, from 1.
type LogStart struct {
	Attempt int
	At      int64
}

// Log returns the log of a task: the output of the task's attempts, one after the other. The output
// is exactly what the agents printed and may contain any bytes. Offsets count bytes from the start
// of the log. If q.Follow is true, the reader ends when the log is complete. If the connection
// breaks before that, the caller can call Log again with the offset that it has reached. The caller
// must close the reader.
func (c *RunClient) Log(ctx context.Context, run, task string, q LogQuery) (io.ReadCloser, LogSpan, error) {
	query := addNonEmpty(url.Values{}, "offset", size(q.Offset), "tail", size(q.Tail), "follow", flag(q.Follow))
	ask := get(query, "v1", "runs", run, "tasks", task, "log")
	var body io.ReadCloser
	var span LogSpan
	// Pass false for the parameter safe, although the request is safe to repeat. With safe set,
	// firstReachable would cancel the request when openLog returns, before the body has been read.
	err := c.conn.firstReachable(ctx, false, func(ctx context.Context, at *address) (err error) {
		body, span, err = c.conn.openLog(ctx, at.URL, ask)
		return err
	})
	if err != nil {
		return nil, LogSpan{}, fmt.Errorf("%s: %w", ask, err)
	}
	return body, span, nil
}

// openLog requests a log. The timeout applies only until the answer begins; reading the body may
// take longer.
func (c *connection) openLog(ctx context.Context, base *url.URL, q call) (io.ReadCloser, LogSpan, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(c.opt.Timeout, func() { cancel(errNoAnswer) })
	res, err := c.requestLog(ctx, base, q)
	if !late.Stop() && err == nil {
		_ = res.Body.Close() // ignore the error: the request was cancelled
		err = errNoAnswer
	}
	if err != nil {
		cancel(nil)
		return nil, LogSpan{}, err
	}
	return &logBody{res.Body, cancel}, spanOf(res.Header), nil
}

func (c *connection) requestLog(ctx context.Context, base *url.URL, q call) (*http.Response, error) {
	req, err := c.request(ctx, base, q)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // request no compression, because a compressor would delay new output
	res, err := c.http.Do(req)
	if err != nil {
		return nil, failureReason(ctx, err)
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, c.refused(res)
	}
	return res, nil
}

// logBody is the body of an answer that contains a log. Close closes the body and cancels the
// request.
type logBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *logBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// The headers that say which part of a log an answer contains.
const (
	LogFrom = "Gaffer-Log-From"
	LogTo   = "Gaffer-Log-To"
	LogKept = "Gaffer-Log-Kept"
	// LogStarts lists the latest attempts, each with the offset at which its output starts. With
	// "1=0,2=18230", the output of attempt 2 starts at offset 18230.
	LogStarts = "Gaffer-Log-Starts"
)

func spanOf(h http.Header) LogSpan {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(h.Get(name), 10, 64) // n is 0 if the header is missing or not a number
		return max(n, 0)
	}
	return LogSpan{From: number(LogFrom), To: number(LogTo), Kept: number(LogKept), Starts: startsOf(h.Get(LogStarts))}
}

// startsOf parses the value of the header LogStarts. It skips invalid entries.
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
