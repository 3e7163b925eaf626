package verify

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// devtools is a client of the browser's DevTools protocol: JSON messages that are
// separated by zero bytes. One goroutine uses it. Another one reads, and ends with the
// pipe.
type devtools struct {
	to      *os.File
	heard   chan message
	stopped chan struct{} // closed by close
	read    chan struct{} // closed when the reader has ended
	last    int           // id of the last call
	session string        // session of the page that calls are sent to; empty for the browser itself
	errors  []string      // uncaught errors of the page's scripts
}

type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// maxMessage is the largest message that is accepted from a browser, in bytes. A
// screenshot of noise has about a tenth of that.
const maxMessage = 64 << 20

var errBrowserGone = errors.New("the browser ended")

func newDevtools(from, to *os.File) *devtools {
	d := &devtools{to: to, heard: make(chan message), stopped: make(chan struct{}), read: make(chan struct{})}
	go func() {
		defer close(d.read)
		d.listen(from)
	}()
	return d
}

// close waits for the reader. The caller has already closed its pipe.
func (d *devtools) close() {
	close(d.stopped)
	<-d.read
}

func (d *devtools) listen(from *os.File) {
	defer close(d.heard)
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxMessage)
	lines.Split(upToZero)
	for lines.Scan() {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			return
		}
		select {
		case d.heard <- m:
		case <-d.stopped:
			return
		}
	}
}

// upToZero is a bufio.SplitFunc. It ignores an incomplete last message.
func upToZero(data []byte, _ bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	return 0, nil, nil
}

// call sends a command to the browser and stores the answer in result. Meanwhile it
// handles events of the page.
func (d *devtools) call(ctx context.Context, method string, params map[string]any, result any) error {
	id, err := d.send(ctx, method, params)
	for err == nil {
		var m message
		if m, err = d.next(ctx); err != nil {
			break
		}
		switch {
		case m.Method != "":
			err = d.happened(ctx, m)
		case m.ID == id && m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case m.ID == id:
			return json.Unmarshal(m.Result, result)
		}
	}
	return fmt.Errorf("%s: %w", method, err)
}

func (d *devtools) send(ctx context.Context, method string, params map[string]any) (int, error) {
	d.last++
	given, err := json.Marshal(params)
	if err != nil {
		return 0, err
	}
	data, err := json.Marshal(message{ID: d.last, SessionID: d.session, Method: method, Params: given})
	if err != nil {
		return 0, err
	}
	until, _ := ctx.Deadline()
	if err := d.to.SetWriteDeadline(until); err != nil {
		return 0, err
	}
	_, err = d.to.Write(append(data, 0))
	return d.last, err
}

func (d *devtools) next(ctx context.Context) (message, error) {
	select {
	case m, ok := <-d.heard:
		if !ok {
			return m, errBrowserGone
		}
		return m, nil
	case <-ctx.Done():
		return message{}, ctx.Err()
	}
}

// maxErrors is the largest number of script errors that are kept.
const maxErrors = 5

// happened handles an event. It closes dialogs, which block the page, and keeps script
// errors for the report.
func (d *devtools) happened(ctx context.Context, m message) error {
	switch m.Method {
	case "Page.javascriptDialogOpening":
		_, err := d.send(ctx, "Page.handleJavaScriptDialog", map[string]any{"accept": true})
		return err
	case "Inspector.targetCrashed":
		return errors.New("the page crashed the browser")
	case "Runtime.exceptionThrown":
		if text := exceptionText(m.Params); text != "" && len(d.errors) < maxErrors {
			d.errors = append(d.errors, text)
		}
	}
	return nil
}

func exceptionText(params json.RawMessage) string {
	var thrown struct {
		Details struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if json.Unmarshal(params, &thrown) != nil {
		return ""
	}
	if thrown.Details.Exception.Description != "" {
		return thrown.Details.Exception.Description
	}
	return thrown.Details.Text
}
