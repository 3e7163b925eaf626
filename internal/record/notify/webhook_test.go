package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func serveHook(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s
}

func hook(address, secret string) *Webhook {
	return NewWebhook(address, []byte(secret), "gaffer", func() time.Time { return noon })
}

func TestAMessageIsSignedAndSaysWhatItIs(t *testing.T) {
	var req *http.Request
	var body []byte
	s := serveHook(t, func(w http.ResponseWriter, r *http.Request) {
		req = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	n := Notification{ID: "abc", Kind: Waiting, Time: noon, Title: "api asks", Text: "<ok>?"}
	if err := hook(s.URL+"/deep/path", "s3cret").Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	var got Notification
	if err := json.Unmarshal(body, &got); err != nil || got.ID != "abc" || got.Title != "api asks" || got.Text != "<ok>?" {
		t.Errorf("%s: %v", body, err)
	}
	h := req.Header
	if req.Method != http.MethodPost || req.URL.Path != "/deep/path" || h.Get("Content-Type") != "application/json" || h.Get(HeaderID) != "abc" {
		t.Errorf("%s %s %v", req.Method, req.URL, h)
	}
	if at, want := h.Get(HeaderTime), Sign([]byte("s3cret"), fmt.Sprint(noon.Unix()), body); at != fmt.Sprint(noon.Unix()) || h.Get(HeaderSignature) != want {
		t.Errorf("at %s signed %s, want %s", at, h.Get(HeaderSignature), want)
	}
	if err := hook(s.URL, "").Send(t.Context(), n); err != nil || len(req.Header[HeaderSignature]) > 0 {
		t.Errorf("without a secret: %v, %v", req.Header, err)
	}
}

// The expected signature was computed with openssl, not with this package.
func TestASignatureIsWhatOtherProgramsMakeOfIt(t *testing.T) {
	want := "sha256=0241343d65739e881dc9bd52baac6fb13ebd4b918db5e2f4431da0f7e5bf6f9b"
	if got := Sign([]byte("s3cret"), "1772366400", []byte(`{"id":"abc"}`)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestResponseErrorsByStatus(t *testing.T) {
	for code, again := range map[int]bool{200: false, 204: false, 302: false, 400: false, 404: false, 408: true, 410: false, 429: true, 500: true, 503: true} {
		s := serveHook(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "17")
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, "because\x1b\n")
		})
		err := hook(s.URL, "").Send(t.Context(), Notification{})
		var temporary *TemporaryError
		if (err == nil) != (code < 300) || errors.As(err, &temporary) != again {
			t.Errorf("%d: %v", code, err)
		}
		if again && temporary.After != 17*time.Second {
			t.Errorf("%d: again after %s", code, temporary.After)
		}
		if err != nil && (!strings.Contains(err.Error(), fmt.Sprint(code)) || !strings.Contains(err.Error(), "because\uFFFD")) {
			t.Errorf("%d: %v", code, err)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	var reached atomic.Bool
	other := serveHook(t, func(http.ResponseWriter, *http.Request) { reached.Store(true) })
	s := serveHook(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if err := hook(s.URL, "x").Send(t.Context(), Notification{}); err == nil || reached.Load() {
		t.Errorf("%v, reached %v", err, reached.Load())
	}
}

func TestAnUntrustedCertificateIsRefused(t *testing.T) {
	var reached atomic.Bool
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	err := hook(s.URL, "x").Send(t.Context(), Notification{})
	var again *TemporaryError
	if !errors.As(err, &again) || reached.Load() || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v, reached %v", err, reached.Load())
	}
}

func TestAReceiverThatHangsIsGivenUpInTime(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter){
		"without a word": func(http.ResponseWriter) {},
		"in the middle": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusInternalServerError)
			_ = http.NewResponseController(w).Flush() // if this fails, the test fails below
		},
	} {
		free := make(chan struct{})
		s := serveHook(t, func(w http.ResponseWriter, r *http.Request) { answer(w); <-free })
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		began := time.Now()
		err := hook(s.URL, "").Send(ctx, Notification{})
		cancel()
		close(free)
		var again *TemporaryError
		if !errors.As(err, &again) || time.Since(began) > 10*time.Second {
			t.Errorf("%s: %v after %s", name, err, time.Since(began))
		}
	}
}

func TestAnUnreachableWebhookIsRetriedAndItsURLIsNotShown(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	h := hook(s.URL+"/services/T0/SECRET?key=SECRET", "SECRET")
	err := h.Send(t.Context(), Notification{})
	var again *TemporaryError
	if !errors.As(err, &again) {
		t.Fatal(err)
	}
	for _, text := range []string{err.Error(), h.Where(), h.Key()} {
		if strings.Contains(text, "SECRET") {
			t.Errorf("%q", text)
		}
	}
}
