package stubmodel

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

type object = map[string]any

// protocol decodes the requests and encodes the answers of one API of a model vendor.
type protocol interface {
	read(body []byte) modelRequest
	say(out *response, path string, h modelRequest, r reply)
	failed(status int, f vendorError) any
}

// protocolFor returns the protocol of the API that a URL path belongs to, or nil if the path is
// unknown.
func protocolFor(path string) protocol {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return messages{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, ":streamGenerateContent"), strings.HasSuffix(path, ":generateContent"):
		return gemini{}
	}
	return nil
}

// response is the answer to one request.
type response struct {
	http.ResponseWriter
	request *http.Request
	mode    Mode
}

// hang sends nothing until the client disconnects. It never returns: it panics to end the request.
func (v *response) hang() {
	<-v.request.Context().Done()
	panic(http.ErrAbortHandler)
}

func (v *response) fail(status int, f vendorError, speaks protocol) {
	f.header(status, v.Header())
	sendJSON(v, status, speaks.failed(status, f))
}

func sendJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("content-type", "application/json")
	w.Header().Set("request-id", id("req_"))
	w.WriteHeader(status)
	_, _ = w.Write(body) // ignore the error: the client may have disconnected
}

// answerWhole sends the answer as one JSON document, not as a stream. In mode "hangmid" it sends
// nothing until the client disconnects. In mode "drop" it sends one byte and then closes the
// connection.
func (v *response) answerWhole(value any) {
	switch v.mode.Kind {
	case "hangmid":
		v.hang()
	case "drop":
		v.Header().Set("content-length", "1000")
		_, _ = v.Write([]byte("{"))                              // ignore the error: the client may have disconnected
		_ = http.NewResponseController(v.ResponseWriter).Flush() // ignore the error: the client may have disconnected
		panic(http.ErrAbortHandler)
	}
	sendJSON(v, http.StatusOK, value)
}

// begin starts a stream of events.
func (v *response) begin() {
	v.Header().Set("content-type", "text/event-stream")
	v.Header().Set("request-id", id("req_"))
	v.WriteHeader(http.StatusOK)
}

// event sends one server-sent event. If name is empty, the event has only data. If data is a
// string, it is sent unchanged; other data is encoded as JSON.
func (v *response) event(name string, data any) {
	text, ok := data.(string)
	if !ok {
		body, err := json.Marshal(data)
		if err != nil {
			panic(err)
		}
		text = string(body)
	}
	if name != "" {
		text = "event: " + name + "\ndata: " + text
	} else {
		text = "data: " + text
	}
	if _, err := fmt.Fprintf(v, "%s\n\n", text); err != nil {
		panic(http.ErrAbortHandler)
	}
	_ = http.NewResponseController(v.ResponseWriter).Flush() // ignore the error: a later write returns it
}

// words calls the function write for each word of the text. Three modes differ. In mode "slow:N",
// it ignores the text and writes N fixed words, one per second; if N is missing, it writes 8. In
// mode "hangmid", it waits after two words until the client disconnects. In mode "drop", it closes
// the connection after two words.
func (v *response) words(text string, write func(word string)) {
	if v.mode.Kind == "slow" {
		text = slowly(v.mode)
	}
	for i, word := range strings.SplitAfter(text, " ") {
		switch {
		case v.mode.Kind == "slow":
			v.pause(time.Second)
		case v.mode.Kind == "hangmid" && i == 2:
			v.hang()
		case v.mode.Kind == "drop" && i == 2:
			panic(http.ErrAbortHandler)
		}
		write(word)
	}
}

func slowly(m Mode) string {
	n, err := strconv.Atoi(m.or("8"))
	if err != nil || n < 1 {
		n = 8
	}
	var words []string
	for i := range n {
		words = append(words, fmt.Sprintf("word%d", i+1))
	}
	return strings.Join(words, " ")
}

func (v *response) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-v.request.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// id returns a new random id that begins with prefix, such as "msg_".
func id(prefix string) string { return prefix + rand.Text() }

// arguments returns the arguments of the call, encoded as JSON.
func (c call) arguments() string {
	text, err := json.Marshal(c.args)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// properties returns the properties of a JSON Schema.
func properties(schema json.RawMessage) map[string]any {
	var s struct {
		Properties map[string]any `json:"properties"`
	}
	_ = json.Unmarshal(schema, &s) // ignore the error: an invalid schema has no properties
	return s.Properties
}
