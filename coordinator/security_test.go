package coordinator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestSecurityATokenIsNotSentOverPlainHTTPToAnotherMachine(t *testing.T) {
	for _, address := range []string{
		"http://server", "http://server:4870", "http://10.0.0.1:4870", "http://[2001:db8::1]:4870", "http://0.0.0.0:4870", "http://127.0.0.1.example",
		"http://localhost.example", "HTTP://server", "https://server,http://server",
	} {
		c, err := New(address, Options{Token: aToken})
		if err == nil {
			t.Errorf("%s: a client was made: %v", address, c.conn.addresses.list[0])
			continue
		}
		hint, ok := err.(interface{ Hint() string })
		if !ok || !strings.Contains(hint.Hint(), "https") || !strings.Contains(hint.Hint(), "ssh") || strings.Contains(err.Error(), aToken) {
			t.Errorf("%s: the error %q does not say what to do", address, err)
		}
	}
	if _, err := New("https://server", Options{Token: aToken, Also: []string{"http://server"}}); err == nil {
		t.Error("a further address may be plain HTTP")
	}
	for _, address := range []string{"http://localhost:1", "http://127.0.0.1:1", "http://127.9.9.9", "http://[::1]:1", "https://server"} {
		if _, err := New(address, Options{Token: aToken}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for name, o := range map[string]Options{"without a token": {}, "if that is wanted": {Token: aToken, PlainHTTP: true}} {
		if _, err := New("http://server", o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecurityARedirectDoesNotGetTheToken(t *testing.T) {
	var followed atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	defer other.Close()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	c, err := New(server.URL, Options{Token: aToken, Tries: 1, HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Agents.List(t.Context()); err == nil {
		t.Error("a redirect was taken for an answer")
	}
	if n := followed.Load(); n != 0 {
		t.Errorf("%d requests went where the redirect points", n)
	}
}
