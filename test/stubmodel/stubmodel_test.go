package stubmodel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"gaffer/internal/testkit/testenv"
)

// sampleMessages holds example messages of one protocol.
type sampleMessages struct {
	path    string
	request string // a request, with %s for the tools and for the conversation
	tools   string
	result  string
	text    string // occurs in a stream once for each part of the answer
	called  string
}

func speeches() map[string]sampleMessages {
	return map[string]sampleMessages{
		"messages": {
			path:    "/v1/messages",
			request: `{"model":"m","stream":true,%s}`,
			tools:   `"tools":[{"name":"Bash","input_schema":{"properties":{"command":{"type":"string"}}}}],"messages":[{"role":"user","content":"hi"}]`,
			result:  `"tools":[{"name":"Bash","input_schema":{}}],"messages":[{"role":"user","content":[{"type":"tool_result"}]}]`,
			text:    `"type":"text_delta"`,
			called:  `"partial_json":"{\"command\":\"echo hi\"}"`,
		},
		"responses": {
			path:    "/v1/responses",
			request: `{"model":"m","stream":true,%s}`,
			tools:   `"tools":[{"type":"function","name":"exec_command","parameters":{"properties":{"cmd":{"type":"string"}}}}],"input":[{"type":"message"}]`,
			result:  `"tools":[],"input":[{"type":"function_call_output"}]`,
			text:    `"response.output_text.delta"`,
			called:  `"arguments":"{\"cmd\":\"echo hi\"}"`,
		},
		"chat": {
			path:    "/v1/chat/completions",
			request: `{"model":"m","stream":true,%s}`,
			tools:   `"tools":[{"type":"function","function":{"name":"bash","parameters":{}}}],"messages":[{"role":"user"}]`,
			result:  `"tools":[{"type":"function","function":{"name":"bash"}}],"messages":[{"role":"tool"}]`,
			text:    `"delta":{"content":`,
			called:  `"arguments":"{\"command\":\"echo hi\"}"`,
		},
		"gemini": {
			path:    "/v1beta/models/g:streamGenerateContent?alt=sse",
			request: `{%s}`,
			tools:   `"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],"contents":[{"parts":[{"text":"hi"}]}]`,
			result:  `"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],"contents":[{"parts":[{"functionResponse":{}}]}]`,
			text:    `"parts":[{"text":`,
			called:  `"functionCall":{"args":{"command":"echo hi"}`,
		},
	}
}

// post sends a request and returns the status and the body of the answer.
func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func serve(t *testing.T) *Server {
	t.Helper()
	s := Serve()
	t.Cleanup(s.Close)
	return s
}

func forEach(t *testing.T, test func(t *testing.T, s *Server, sp sampleMessages)) {
	t.Helper()
	for name, sp := range speeches() {
		t.Run(name, func(t *testing.T) { test(t, serve(t), sp) })
	}
}

func TestATextIsStreamedWordByWord(t *testing.T) {
	forEach(t, func(t *testing.T, s *Server, sp sampleMessages) {
		_, text := post(t, s.At("text")+sp.path, fmt.Sprintf(sp.request, sp.tools))
		if n := strings.Count(text, sp.text); n < 3 {
			t.Errorf("%d parts of a text in\n%s", n, text)
		}
	})
}

// Codex returns from a call after 30 seconds at most, even if the command still runs.
func TestACommandThatStillRunsIsWaitedFor(t *testing.T) {
	const (
		tools   = `"tools":[{"type":"function","name":"exec_command"},{"type":"function","name":"write_stdin"}]`
		running = `{"type":"function_call_output","output":"Process running with session ID 4711\nOutput:\n"}`
		ended   = `{"type":"function_call_output","output":"Process exited with code 0\nOutput:\n"}`
		said    = `{"type":"message","role":"user"}`
		waits   = `"arguments":"{\"chars\":\"\",\"session_id\":4711,\"yield_time_ms\":5000}"`
	)
	s := serve(t)
	for _, c := range []struct {
		input string
		waits bool
	}{
		{running, true},
		{running + "," + said, true},
		{running + "," + ended, false},
		{running + `,{"type":"message","role":"assistant"},` + said, false},
	} {
		s.Play("a", "text:first")
		_, text := post(t, s.Named("a")+"/v1/responses", `{"model":"m",`+tools+`,"input":[`+c.input+`]}`)
		if got := strings.Contains(text, waits); got != c.waits || strings.Contains(text, "first") == c.waits {
			t.Errorf("after %s: waits %v\n%s", c.input, got, text)
		}
	}
	if turns := s.Turns("a"); len(turns) != 2 {
		t.Errorf("%d turns", len(turns))
	}
}

func TestAToolIsCalledOnceAndItsResultEndsTheTurn(t *testing.T) {
	forEach(t, func(t *testing.T, s *Server, sp sampleMessages) {
		_, text := post(t, s.At("tool")+sp.path, fmt.Sprintf(sp.request, sp.tools))
		if !strings.Contains(text, sp.called) {
			t.Errorf("no call %s in\n%s", sp.called, text)
		}
		_, text = post(t, s.At("tool")+sp.path, fmt.Sprintf(sp.request, sp.result))
		if strings.Contains(text, "echo hi") || !strings.Contains(text, "Done") {
			t.Errorf("the result was answered with\n%s", text)
		}
	})
}

func TestErrorsAreWordedAsTheVendorDoes(t *testing.T) {
	forEach(t, func(t *testing.T, s *Server, sp sampleMessages) {
		for mode, want := range map[string]int{"401": 401, "429": 429, "529": 529, "ctx": 400, "limit": 429} {
			code, text := post(t, s.At(mode)+sp.path, fmt.Sprintf(sp.request, sp.tools))
			var e struct {
				Error struct {
					Message string `json:"message"`
				} `json:"error"`
			}
			if err := json.Unmarshal([]byte(text), &e); code != want || err != nil || e.Error.Message == "" {
				t.Errorf("%s: %d %s", mode, code, text)
			}
		}
	})
}

func TestADroppedStreamIsSeenAsOne(t *testing.T) {
	forEach(t, func(t *testing.T, s *Server, sp sampleMessages) {
		res, err := http.Post(s.At("drop")+sp.path, "", strings.NewReader(fmt.Sprintf(sp.request, sp.tools)))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.Contains(text, []byte("data: ")) {
			t.Errorf("%v after\n%s", err, text)
		}
	})
}

func TestARequestWithoutStreamingGetsOneAnswer(t *testing.T) {
	forEach(t, func(t *testing.T, s *Server, sp sampleMessages) {
		if sp.path == "/v1/responses" {
			return // this protocol always streams its answers
		}
		path, _, _ := strings.Cut(strings.Replace(sp.path, ":streamGenerate", ":generate", 1), "?")
		body := strings.Replace(fmt.Sprintf(sp.request, sp.tools), `"stream":true,`, "", 1)
		_, text := post(t, s.At("text:all of it")+path, body)
		if !json.Valid([]byte(text)) || !strings.Contains(text, "all of it") {
			t.Errorf("no JSON with the text: %s", text)
		}
		if _, text := post(t, s.At("tool")+path, body); !strings.Contains(text, "echo hi") {
			t.Errorf("no call: %s", text)
		}
		res, err := http.Post(s.At("drop")+path, "", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		if _, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a dropped answer ended with %v", err)
		}
	})
}

func TestAHangingAnswerEndsWithItsClient(t *testing.T) {
	for mode, head := range map[string]bool{"hang": false, "hangmid": true} {
		s := serve(t)
		sp := speeches()["messages"]
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.At(mode)+sp.path, strings.NewReader(fmt.Sprintf(sp.request, sp.tools)))
		if err != nil {
			t.Fatal(err)
		}
		began := make(chan bool, 1)
		go func() {
			defer close(began)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				return
			}
			defer func() { _ = res.Body.Close() }()
			_, err = bufio.NewReader(res.Body).ReadString('\n')
			began <- err == nil
		}()
		testenv.Wait(t, mode+": a turn", func() error {
			if len(s.Turns("")) == 0 {
				return errors.New("no turn")
			}
			return nil
		})
		if head && !<-began {
			t.Errorf("%s: no head", mode)
		}
		cancel()
		if !head && <-began {
			t.Errorf("%s: something was said", mode)
		}
	}
}

func TestANamePlaysItsModesOneForEachTurn(t *testing.T) {
	s, sp := serve(t), speeches()["messages"]
	s.Play("a", "429", "tool:ls", "tool:pwd", "text:bye")
	var received []string
	for range 5 {
		_, text := post(t, s.Named("a")+sp.path, fmt.Sprintf(sp.request, sp.result))
		for _, word := range []string{"rate_limit_error", `\"ls\"`, `\"pwd\"`, "bye", "Done."} {
			if strings.Contains(text, word) {
				received = append(received, word)
			}
		}
		// Send a request that is not a turn: it must not use up a mode.
		post(t, s.Named("a")+sp.path, `{"messages":[{"role":"user","content":"a title, please"}]}`)
	}
	if got, want := fmt.Sprint(received), fmt.Sprint([]string{"rate_limit_error", `\"ls\"`, `\"pwd\"`, "bye", "Done."}); got != want {
		t.Errorf("received %s, want %s", got, want)
	}
	if n, all := len(s.Turns("a")), len(s.Requests("a")); n != 5 || all != 10 {
		t.Errorf("%d turns in %d requests", n, all)
	}
}

func TestAnErrorOnceIsFollowedByAText(t *testing.T) {
	s, sp := serve(t), speeches()["responses"]
	for i, want := range []int{529, 200, 200} {
		if code, _ := post(t, s.At("529once")+sp.path, fmt.Sprintf(sp.request, sp.tools)); code != want {
			t.Errorf("request %d: %d, want %d", i+1, code, want)
		}
	}
}

func TestAnyToolCanBeCalledByTheEndOfItsName(t *testing.T) {
	s := serve(t)
	_, text := post(t, s.At(`call:inbox_add:{"text":"a"}`)+"/v1/responses",
		`{"tools":[{"type":"namespace","name":"mcp__gaffer","tools":[{"type":"function","name":"mcp__gaffer__inbox_add"}]}],"input":[{}]}`)
	for _, want := range []string{`"name":"mcp__gaffer__inbox_add"`, `"namespace":"mcp__gaffer"`, `{\"text\":\"a\"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestModesAreSetAndRequestsReadFromOutside(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- New().Listen(ctx, l) }()
	base, sp := "http://"+l.Addr().String()+"/t/x", speeches()["chat"]
	if code, text := post(t, base+"/mode", `["text:one"]`); code != 200 {
		t.Fatal(text)
	}
	if _, text := post(t, base+sp.path, fmt.Sprintf(sp.request, sp.tools)); !strings.Contains(text, "one") {
		t.Error(text)
	}
	res, err := http.Get(base + "/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var kept []Request
	if err := json.NewDecoder(res.Body).Decode(&kept); err != nil || len(kept) != 3 || kept[1].Mode != "text:one" {
		t.Errorf("%v: %+v", err, kept)
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

func TestAKeyReachesItsLimitAndOtherKeysDoNot(t *testing.T) {
	s := Serve()
	defer s.Close()
	s.LimitKey("sk-limited", 1)
	s.Play("a", "text:one", "text:two")
	ask := func(header, value string) (status int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Named("a")+"/v1/messages", strings.NewReader(`{"messages":[{"role":"user","content":"x"}],"tools":[{"name":"Bash"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(header, value)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		return got.StatusCode
	}
	for i, test := range []struct {
		header, value string
		want          int
	}{
		{"X-Api-Key", "sk-limited", 200},
		{"X-Api-Key", "sk-limited", 429},
		{"Authorization", "Bearer sk-limited", 429},
		{"X-Api-Key", "sk-other", 200},
	} {
		if got := ask(test.header, test.value); got != test.want {
			t.Errorf("request %d with %s: %d, want %d", i+1, test.value, got, test.want)
		}
	}
	if turns := s.Turns("a"); len(turns) != 4 || turns[1].Mode != "limit" || turns[3].Mode != "text:two" {
		t.Errorf("answered as %v", turns)
	}
}
