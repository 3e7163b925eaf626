package server

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestACertificateOfItsOwnIsPrivateAndStays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "tls.pem")
	now := time.Now()
	config, err := SelfSigned(file, []string{"localhost", "127.0.0.1"}, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	fingerprint := Fingerprint(config)
	for what, c := range map[string]struct {
		hosts []string
		after time.Duration
		same  bool
	}{
		"the next day":         {[]string{"localhost"}, 24 * time.Hour, true},
		"shortly before":       {[]string{"localhost"}, 350 * 24 * time.Hour, false},
		"with a name it lacks": {[]string{"build.example"}, 0, false},
		"at another address":   {[]string{"localhost", "127.0.0.1", "192.0.2.7"}, 0, true},
		"at one asked for":     {[]string{"localhost", "192.0.2.8"}, 0, false},
	} {
		again, err := SelfSigned(filepath.Join(copied(t, file), "tls.pem"), c.hosts, []string{"192.0.2.8"}, now.Add(c.after))
		if err != nil || (Fingerprint(again) == fingerprint) != c.same {
			t.Errorf("%s: %v, the same: %v", what, err, !c.same)
		}
	}
	if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := SelfSigned(file, []string{"localhost"}, nil, now); err == nil {
		t.Error("a damaged one was replaced without a word")
	}
}

func copied(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tls.pem"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOverTLSRequestsTheStreamAndTheCookieWork(t *testing.T) {
	config, err := SelfSigned(filepath.Join(t.TempDir(), "tls.pem"), []string{"127.0.0.1"}, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, two := range []bool{false, true} {
		w := start(t, func(o *Options) { o.TLS, o.KeepAlive = config.Clone(), 20*time.Millisecond })
		pinned := &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
			if got := Fingerprint(&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{s.PeerCertificates[0].Raw}}}}); got != Fingerprint(config) {
				return fmt.Errorf("fingerprint %s", got)
			}
			return nil
		}}
		transport := &http.Transport{TLSClientConfig: pinned, ForceAttemptHTTP2: two}
		defer transport.CloseIdleConnections()
		w.client.Transport = secure{transport}
		path, err := w.server.LoginPath()
		if err != nil {
			t.Fatal(err)
		}
		if got := w.ask("", "GET", path, ""); !strings.Contains(got.header.Get("Set-Cookie"), "Secure") {
			t.Errorf("%d %v", got.status, got.header)
		}
		r := follow(w, "", nil)
		if (r.resp.ProtoMajor == 2) != two {
			t.Errorf("it speaks %s", r.resp.Proto)
		}
		for range 3 {
			if e, err := r.next(); err != nil || e.comment != "ping" {
				t.Errorf("%+v, %v", e, err)
			}
		}
		w.service.tell(1, "", "")
		if ids, err := r.updates(1); err != nil || ids[0] != 1 {
			t.Errorf("%v, %v", ids, err)
		}
		r.close()
	}
}

// secure is a transport that sends requests for http URLs over https.
type secure struct{ http.RoundTripper }

func (s secure) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme = "https"
	return s.RoundTripper.RoundTrip(r)
}
