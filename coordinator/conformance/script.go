package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// script is the test of one requirement. Most of its methods end the test if the coordinator's
// answer is not as required.
type script struct {
	*testing.T
	Target
	mark string // random text that makes the names in this test unique
}

// object is a JSON object of a request or an answer.
type object map[string]any

// reply is an answer of the coordinator.
type reply struct {
	s      *script
	asked  string // the request, for error messages
	status int
	header http.Header
	raw    []byte
}

// send sends a request. body is an object, a string that is sent unchanged, or nil.
func (s *script) send(token, method, path string, body any) reply {
	s.Helper()
	r, err := s.exchange(token, method, path, body)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

// sendWith is like send, but sends the given headers instead of a token.
func (s *script) sendWith(header http.Header, method, path string, body any) reply {
	s.Helper()
	r, err := s.exchangeWith(header, method, path, body)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

// exchange is like send, but returns an error instead of ending the test. So it may be called from
// any goroutine, while send may be called only from the test's own goroutine.
func (s *script) exchange(token, method, path string, body any) (reply, error) {
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return s.exchangeWith(header, method, path, body)
}

func (s *script) exchangeWith(header http.Header, method, path string, body any) (reply, error) {
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	sent, err := encoded(body)
	if err != nil {
		return reply{}, err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(sent))
	if err != nil {
		return reply{}, err
	}
	req.Header = header.Clone()
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	asked := method + " " + req.URL.Path + " " + string(sent)
	return answered(reply{s: s, asked: asked, status: res.StatusCode, header: res.Header}, res)
}

// answered reads the body of an answer into r. It does not read the body of an event stream,
// because that never ends.
func answered(r reply, res *http.Response) (reply, error) {
	if strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
		return r, nil
	}
	var err error
	r.raw, err = io.ReadAll(io.LimitReader(res.Body, 64<<20))
	return r, err
}

func encoded(body any) ([]byte, error) {
	switch b := body.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(b), nil
	}
	return json.Marshal(body)
}

// asUser sends a request with the token that has all permissions. The method asWorker
// sends it with a worker's token.
func (s *script) asUser(method, path string, body any) reply {
	s.Helper()
	return s.send(s.Token, method, path, body)
}

func (s *script) asWorker(method, path string, body any) reply {
	s.Helper()
	return s.send(s.WorkerToken, method, path, body)
}

// want ends the test unless the answer has one of these statuses.
func (r reply) want(statuses ...int) reply {
	r.s.Helper()
	if !slices.Contains(statuses, r.status) {
		r.s.Fatalf("%s: status %d, want %v; the body is %.500s", r.asked, r.status, statuses, r.raw)
	}
	return r
}

// json returns the body as an object. The test ends unless the body and its content type are JSON.
func (r reply) json() object {
	r.s.Helper()
	if kind := r.header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		r.s.Fatalf("%s: content type %q, want application/json", r.asked, kind)
	}
	var o object
	if err := json.Unmarshal(r.raw, &o); err != nil {
		r.s.Fatalf("%s: %v in %.500s", r.asked, err, r.raw)
	}
	return o
}

// one returns a member of the answer. The test ends unless the member is an object with the members
// and types of the given [shape].
func (r reply) one(member string, of shape) object {
	r.s.Helper()
	o, ok := r.json()[member].(map[string]any)
	if !ok {
		r.s.Fatalf("%s: no object %q in %.500s", r.asked, member, r.raw)
	}
	of.check(r.s, r.asked+" → "+member, o)
	return o
}

// list returns a member of the answer. The test ends unless the member is a list of objects with
// the members and types of the given [shape].
func (r reply) list(member string, of shape) []object {
	r.s.Helper()
	values, ok := r.json()[member].([]any)
	if !ok {
		r.s.Fatalf("%s: no list %q in %.500s", r.asked, member, r.raw)
	}
	var all []object
	for _, v := range values {
		o, ok := v.(map[string]any)
		if !ok {
			r.s.Fatalf("%s: %v in %q, want an object", r.asked, v, member)
		}
		of.check(r.s, r.asked+" → "+member, o)
		all = append(all, o)
	}
	return all
}

// refuses ends the test unless the answer has one of these statuses and its body is an error in the
// protocol's format. It returns the error code from the body.
func (r reply) refuses(statuses ...int) string {
	r.s.Helper()
	r.want(statuses...)
	o, ok := r.json()["error"].(map[string]any)
	if !ok {
		r.s.Fatalf("%s: no object %q in %.500s", r.asked, "error", r.raw)
	}
	shape{"code": "text", "message": "text"}.check(r.s, r.asked+" → error", o)
	if o["code"] == "" || o["message"] == "" {
		r.s.Fatalf("%s: an error without a code or a message: %s", r.asked, r.raw)
	}
	return o["code"].(string)
}

// find returns the object with this id from a list. The test ends if there is none.
func (s *script) find(list []object, id string) object {
	s.Helper()
	i := slices.IndexFunc(list, func(o object) bool { return o["id"] == id })
	if i < 0 {
		s.Fatalf("no object with id %q among %d", id, len(list))
	}
	return list[i]
}

// equal ends the test unless o has all members of want, with the same values. name describes o in
// error messages.
func (s *script) equal(name string, o object, want object) {
	s.Helper()
	for member, value := range want {
		got, _ := json.Marshal(o[member])
		wanted, err := json.Marshal(value)
		if err != nil {
			s.Fatal(err)
		}
		if value == "" && o[member] == nil {
			continue // a missing member counts as an empty string
		}
		if !bytes.Equal(got, wanted) {
			s.Errorf("%s: %s is %s, want %s", name, member, got, wanted)
		}
	}
	if s.Failed() {
		s.FailNow()
	}
}
