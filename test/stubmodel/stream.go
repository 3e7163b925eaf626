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

// wire is a vendor's protocol.
type wire interface {
	read(body []byte) heard
	say(out *voiceOver, path string, h heard, r reply)
	failed(status int, f failing) any
}

// wireFor is the protocol that a path belongs to, or nil.
func wireFor(path string) wire {
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

// voiceOver is the answer to one request.
type voiceOver struct {
	http.ResponseWriter
	request *http.Request
	mode    Mode
}

// hang says nothing until the program gives up.
func (v *voiceOver) hang() {
	<-v.request.Context().Done()
	panic(http.ErrAbortHandler)
}

func (v *voiceOver) fail(status int, f failing, speaks wire) {
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
	_, _ = w.Write(body) // who asked may be gone
}

// whole answers without a stream. A mode that breaks a stream breaks this.
func (v *voiceOver) whole(value any) {
	switch v.mode.Kind {
	case "hangmid":
		v.hang()
	case "drop":
		v.Header().Set("content-length", "1000")
		_, _ = v.Write([]byte("{"))                              // who asked may be gone
		_ = http.NewResponseController(v.ResponseWriter).Flush() // as above
		panic(http.ErrAbortHandler)
	}
	sendJSON(v, http.StatusOK, value)
}

// begin begins a stream of events.
func (v *voiceOver) begin() {
	v.Header().Set("content-type", "text/event-stream")
	v.Header().Set("request-id", id("req_"))
	v.WriteHeader(http.StatusOK)
}

// event sends one event; without a name, its data alone.
func (v *voiceOver) event(name string, data any) {
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
	_ = http.NewResponseController(v.ResponseWriter).Flush() // the next write tells
}

// words says a text word by word, as the mode has it.
func (v *voiceOver) words(text string, each func(word string)) {
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
		each(word)
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

func (v *voiceOver) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-v.request.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// id makes an id as the vendors do.
func id(prefix string) string { return prefix + rand.Text() }

// arguments are those of a call as a string of JSON.
func (c call) arguments() string {
	text, err := json.Marshal(c.args)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// properties are the parameters in a JSON Schema.
func properties(schema json.RawMessage) map[string]any {
	var s struct {
		Properties map[string]any `json:"properties"`
	}
	_ = json.Unmarshal(schema, &s) // what is no schema has none
	return s.Properties
}
