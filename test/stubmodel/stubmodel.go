// Package stubmodel is an HTTP server that imitates the APIs of language models. Its answers do not
// come from a model, but are fixed. With it, tests can run the real agent programs on one machine
// and without an API key. It can also imitate failures, such as rate limits and lost connections.
//
// It implements the APIs that the agent programs use: Anthropic's messages, OpenAI's responses and
// chat completions, and Gemini's generateContent. A mode determines what it answers; see
// [ParseMode]. The base URL that an agent program is configured with contains the mode, or a name
// that the test chooses:
//
//	/m/MODE        answer in this mode
//	/t/NAME        answer in the modes that were set for this name, see [Stub.Play]
//	/t/NAME/m/MODE answer in this mode, and store the requests under this name
//
// For OpenAI's APIs, append /v1 to the base URL.
package stubmodel

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// Text is the model's default answer. Done is its answer to the result of a tool call.
const (
	Text = "Hello from the stub model."
	Done = "Done. The tool ran."
)

// The number of tokens that each answer reports as used.
const (
	InputTokens  = 120
	OutputTokens = 7
)

// Stub is a stub model: an [http.Handler] that imitates the APIs of language models with fixed
// answers.
type Stub struct {
	mu    sync.Mutex
	names map[string]*script
	// once contains the modes that were already used and that are for one request only, such as
	// "429once". The key is the name and the mode, separated by a space.
	once map[string]bool
	left map[string]int // number of turns until the usage limit, by API key; see [Stub.LimitKey]
	all  []Request
}

// script holds the modes that [Stub.Play] has set for one name, and how many turns have used them.
type script struct {
	modes []string
	used  int
}

// New returns a stub model that has received no requests.
func New() *Stub {
	return &Stub{names: map[string]*script{}, once: map[string]bool{}, left: map[string]int{}}
}

// Request is a request that the stub model has received from an agent program.
type Request struct {
	Name   string // the NAME in the path /t/NAME
	Mode   string // mode for this request; empty if the request was not for the model
	Method string
	Path   string // URL path without /t/NAME and /m/MODE
	Header http.Header
	Body   json.RawMessage
	Tools  []string // names of the tools that the agent program offers to the model
	// Side is true if the request is not a turn of the user's conversation. For example, the
	// request asks for a title, or the stub model answers it with a tool call that waits for a
	// running command.
	Side bool
}

// Requests returns all requests with this name in their path /t/NAME, in the order of their
// arrival.
func (s *Stub) Requests(name string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var of []Request
	for _, r := range s.all {
		if r.Name == name {
			of = append(of, r)
		}
	}
	return of
}

// Turns returns the requests with this name in their path /t/NAME that were turns of a
// conversation.
func (s *Stub) Turns(name string) []Request {
	var turns []Request
	for _, r := range s.Requests(name) {
		if r.Mode != "" && !r.Side {
			turns = append(turns, r)
		}
	}
	return turns
}

// Play sets the modes for the requests with this name in their path /t/NAME, and replaces earlier
// modes. Each request that is a turn of the conversation uses the next mode, even if the request
// ends with the result of a tool call. When all modes are used, later turns repeat the last mode.
// If such a turn ends with the result of a tool call, the model answers with [Done] instead of a
// tool call or another text, except in mode "loop". Requests that are not turns are answered with a
// text and use up no mode.
func (s *Stub) Play(name string, modes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name] = &script{modes: modes}
}

// LimitKey sets the number of turns after which an API key has reached its usage limit. All later
// requests with this key are answered as in mode "limit", and use up no mode that [Stub.Play] has
// set.
func (s *Stub) LimitKey(key string, turns int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left[key] = turns
}

// limited reports whether the API key of a request has reached its usage limit. If it has not, and
// the request is a turn of the conversation (side is false), limited reduces the number of turns
// that are left for the key.
func (s *Stub) limited(h http.Header, side bool) bool {
	key := h.Get("X-Api-Key")
	if token, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer "); ok && key == "" {
		key = token
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left, known := s.left[key]
	if known && left > 0 && !side {
		s.left[key]--
	}
	return known && left == 0
}

// next returns the mode for a request with this name: the next mode that [Stub.Play] has set, or
// the last one again if all are used. It returns "text" if no modes are set, or if the request is
// not a turn of the conversation (side is true). fresh is true if the mode is one that Play has set
// and that no earlier request has used up.
func (s *Stub) next(name string, side bool) (mode string, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.names[name]
	if v == nil || len(v.modes) == 0 || side {
		return "text", false
	}
	at := min(v.used, len(v.modes)-1)
	v.used++
	return v.modes[at], at == v.used-1
}

// first reports whether this is the first call with this path, which consists of the name and the
// mode of a request.
func (s *Stub) first(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.once[path]
	s.once[path] = true
	return !was
}

func (s *Stub) keep(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, r)
}

// Server is a [Stub] that listens on a port.
type Server struct {
	*Stub
	URL  string
	http *httptest.Server
}

// Serve starts a stub model on a free port of the loopback interface.
func Serve() *Server {
	stub := New()
	h := httptest.NewServer(stub)
	return &Server{Stub: stub, URL: h.URL, http: h}
}

// Listen accepts connections on l and answers requests until the context ends.
func (s *Stub) Listen(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s, BaseContext: func(net.Listener) context.Context { return ctx }}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(l) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
		err := server.Close()
		<-stopped
		return err
	}
}

// Close closes all connections and the server.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// At returns the base URL for a mode. Requests to this URL are answered in that mode.
func (s *Server) At(mode string) string { return s.URL + "/m/" + url.PathEscape(mode) }

// Named returns the base URL for a name. Requests to this URL are answered in the modes that
// [Stub.Play] has set for the name.
func (s *Server) Named(name string) string { return s.URL + "/t/" + url.PathEscape(name) }

var (
	namePart = regexp.MustCompile(`^/t/([^/]+)(/.*|$)`)
	modePart = regexp.MustCompile(`^/m/([^/]+)(/.*|$)`)
)

// maxRequest is the maximum size of a request, in bytes.
const maxRequest = 64 << 20

func (s *Stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	kept := Request{Method: r.Method, Path: r.URL.EscapedPath(), Header: r.Header, Body: asJSON(body)}
	kept.Name = cutPart(namePart, &kept.Path)
	mode := cutPart(modePart, &kept.Path)
	s.answer(w, r, kept, mode)
}

// cutPart removes /t/NAME or /m/MODE from the beginning of path, and returns NAME or MODE. If path
// does not match the pattern, it returns "" and leaves path unchanged.
func cutPart(pattern *regexp.Regexp, path *string) string {
	m := pattern.FindStringSubmatch(*path)
	if m == nil {
		return ""
	}
	*path = m[2]
	text, err := url.PathUnescape(m[1])
	if err != nil {
		return m[1]
	}
	return text
}

// asJSON returns body if it is valid JSON, and nil if body is empty. Otherwise it returns the text
// of body as a JSON string.
func asJSON(body []byte) json.RawMessage {
	switch {
	case len(body) == 0:
		return nil
	case json.Valid(body):
		return body
	}
	text, _ := json.Marshal(string(body)) // encoding a string never fails
	return text
}

func (s *Stub) answer(w http.ResponseWriter, r *http.Request, kept Request, mode string) {
	speaks := protocolFor(kept.Path)
	if speaks == nil || r.Method != http.MethodPost {
		s.keep(kept)
		s.answerOther(w, r, kept)
		return
	}
	heard := speaks.read(kept.Body)
	kept.Tools, kept.Side = heard.names(), heard.side
	if c := wait(heard); c != nil {
		kept.Mode, kept.Side = "wait", true
		s.keep(kept)
		speaks.say(&response{ResponseWriter: w, request: r}, kept.Path, heard, reply{call: c})
		return
	}
	if s.limited(r.Header, heard.side) {
		mode = "limit"
	}
	if mode == "" {
		var fresh bool
		mode, fresh = s.next(kept.Name, heard.side)
		// The field done says that the request ends with the result of a tool call, which the
		// function decide answers with a text. If the mode is fresh (not a repetition of the last
		// mode), clear done, so that decide follows the mode instead.
		heard.done = heard.done && !fresh
	}
	kept.Mode = mode
	s.keep(kept)
	m := ParseMode(mode)
	if m.Once && !s.first(kept.Name+" "+mode) {
		m = Mode{Kind: "text"}
	}
	out := &response{ResponseWriter: w, request: r, mode: m}
	if m.Kind == "hang" {
		out.hang()
		return
	}
	if status, f, ok := m.failure(); ok {
		out.fail(status, f, speaks)
		return
	}
	speaks.say(out, kept.Path, heard, decide(m, heard))
}

// answerOther answers requests that are not for the model, such as a request for the list of
// models.
func (s *Stub) answerOther(w http.ResponseWriter, r *http.Request, kept Request) {
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(kept.Path, "/mode"):
		var modes []string
		if json.Unmarshal(kept.Body, &modes) != nil {
			http.Error(w, `want a JSON array of modes, such as ["429","text"]`, http.StatusBadRequest)
			return
		}
		s.Play(kept.Name, modes...)
		sendJSON(w, http.StatusOK, object{"modes": modes})
	case r.Method == http.MethodGet && strings.HasSuffix(kept.Path, "/requests"):
		sendJSON(w, http.StatusOK, s.Requests(kept.Name))
	case r.Method == http.MethodHead:
	case strings.HasSuffix(kept.Path, "/count_tokens"):
		sendJSON(w, http.StatusOK, object{"input_tokens": 42})
	case strings.HasSuffix(kept.Path, ":countTokens"):
		sendJSON(w, http.StatusOK, object{"totalTokens": 42})
	case r.Method == http.MethodGet && strings.HasSuffix(kept.Path, "/models"):
		sendJSON(w, http.StatusOK, models())
	case strings.Contains(kept.Path, "batch") || strings.Contains(kept.Path, "log"):
		sendJSON(w, http.StatusOK, object{})
	default:
		sendJSON(w, http.StatusNotFound, object{"error": object{"type": "not_found_error", "message": "the stub model has no such path"}})
	}
}

func models() object {
	var list []object
	for _, id := range []string{"stub-model", "gpt-5", "claude-sonnet-4-5"} {
		list = append(list, object{
			"id": id, "object": "model", "type": "model", "display_name": id, "owned_by": "stub",
			"created": 1735689600, "created_at": "2025-01-01T00:00:00Z",
		})
	}
	return object{"object": "list", "data": list, "models": []object{}, "has_more": false}
}
