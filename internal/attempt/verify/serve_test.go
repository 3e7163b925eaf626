package verify_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"gaffer/internal/attempt/verify"
	"gaffer/internal/testkit/testenv"
	"gaffer/workflow"
)

// serving returns a shell command that runs this test program as a slow development server.
func serving() string {
	return fmt.Sprintf("sleep 0.5; echo up at $PORT; VERIFY_AS_SERVER=1 exec %q", os.Args[0])
}

func serveForever() {
	err := http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			fmt.Println("stack of what is broken")
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprint(w, "hello")
	}))
	fmt.Println(err)
	os.Exit(1)
}

func TestAServerRunsWhileItsPagesAreChecked(t *testing.T) {
	o := run(t, verify.Request{Serve: serving(), Mode: workflow.Reduced, Checks: []verify.Check{
		{Name: "first", URL: "http://127.0.0.1:{port}/", Contains: "hello"},
		{Name: "second", URL: "http://127.0.0.1:{port}/broken"},
	}}, verify.Tools{})
	if results(o) != "pass fail" || o.Checks[0].Retried {
		t.Errorf("%+v", o)
	}
	for _, want := range []string{"answered 500", "up at ", "stack of what is broken"} {
		if !strings.Contains(o.Details[1].Output, want) {
			t.Errorf("no %q in %q", want, o.Details[1].Output)
		}
	}
	_, port, _ := strings.Cut(o.Details[1].Output, "up at ")
	port, _, _ = strings.Cut(port, "\n")
	if response, err := http.Get("http://127.0.0.1:" + port); err == nil {
		_ = response.Body.Close()
		t.Errorf("a server is left at %s", port)
	}
}

func TestAServerThatEndsSaysWhy(t *testing.T) {
	o := run(t, verify.Request{Serve: "echo no such module >&2; exit 1", Checks: []verify.Check{{URL: "http://127.0.0.1:{port}/"}, {Command: "true"}}}, verify.Tools{})
	if results(o) != "fail pass" || !strings.Contains(o.Details[0].Output, "no such module") || !strings.Contains(o.Details[0].Output, "the server has ended") {
		t.Errorf("%+v", o)
	}
}

// startOtherServer starts a server that does not belong to the checked chunk.
func startOtherServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAPageOfAnotherServerDoesNotPass(t *testing.T) {
	dir := t.TempDir()
	o := run(t, verify.Request{
		Dir: dir, Serve: "touch started; sleep 60", Mode: workflow.Reduced,
		Checks: []verify.Check{{URL: startOtherServer(t), Contains: "hello"}},
	}, verify.Tools{})
	if results(o) != "fail" || list(t, dir) != "" || !strings.Contains(o.Details[0].Output, "already") || !strings.Contains(o.Details[0].Output, "{port}") {
		t.Errorf("%+v", o)
	}
}

func TestAPageOfAnotherServerDoesNotReplaceAServerThatHasEnded(t *testing.T) {
	testenv.Integration(t)
	leaves := fmt.Sprintf("echo $$ >pid; VERIFY_AS_SERVER=1 %q & until test -e end; do sleep 0.1; done", os.Args[0])
	o := run(t, verify.Request{Serve: leaves, Mode: workflow.Reduced, Checks: []verify.Check{
		{Name: "it runs", URL: "http://127.0.0.1:{port}/", Contains: "hello"},
		{Name: "it ends", Command: "touch end; until grep -q 'State:.Z' /proc/$(cat pid)/status; do sleep 0.1; done; sleep 5"},
		{Name: "what it left still answers", URL: "http://127.0.0.1:{port}/", Contains: "hello"},
	}}, verify.Tools{})
	if results(o) != "pass pass fail" || !strings.Contains(o.Details[2].Output, "the server has ended") {
		t.Errorf("%+v", o)
	}
}

func TestTheUsersServerIsUsedWithoutServe(t *testing.T) {
	o := run(t, verify.Request{Mode: workflow.Reduced, Checks: []verify.Check{{URL: startOtherServer(t), Contains: "hello"}}}, verify.Tools{})
	if !o.Passed {
		t.Errorf("%+v", o)
	}
}

func TestAServerIsNotStartedIfNoPageIsChecked(t *testing.T) {
	dir := t.TempDir()
	o := run(t, verify.Request{Dir: dir, Serve: "touch started; sleep 60", Mode: workflow.Minimal, Checks: []verify.Check{{URL: "http://127.0.0.1:{port}/"}, {Command: "true"}}}, verify.Tools{})
	if !o.Passed || list(t, dir) != "" {
		t.Errorf("%+v", o)
	}
}

func TestAFreePortNeedsAServer(t *testing.T) {
	err := verify.Request{Checks: []verify.Check{{URL: "http://127.0.0.1:{port}/"}}}.Validate()
	if err == nil || !strings.Contains(err.Error(), "serves nothing") {
		t.Errorf("%v", err)
	}
}
