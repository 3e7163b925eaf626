package remote_test

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/coordinator"
	"gaffer/internal/remote"
)

// secure is a coordinator with a certificate that nobody knows.
func secure(t *testing.T) *httptest.Server {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	return s
}

func health(t *testing.T, s *httptest.Server, c *tls.Config) error {
	t.Helper()
	client, err := coordinator.New(s.URL, coordinator.Options{TLS: c, Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	return client.Health(t.Context())
}

func TestACertificateIsTrustedByItsFingerprint(t *testing.T) {
	s := secure(t)
	sum := sha256.Sum256(s.Certificate().Raw)
	plain := hex.EncodeToString(sum[:])
	var colons []string
	for i := 0; i < len(plain); i += 2 {
		colons = append(colons, strings.ToUpper(plain[i:i+2]))
	}
	for _, fingerprint := range []string{plain, strings.Join(colons, ":"), " " + plain + "\n"} {
		c, err := remote.Secure("", fingerprint)
		if err != nil {
			t.Fatal(err)
		}
		if err := health(t, s, c); err != nil {
			t.Errorf("%s: %v", fingerprint, err)
		}
	}
	c, err := remote.Secure("", strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	var other *remote.FingerprintError
	if err := health(t, s, c); !errors.As(err, &other) || other.Got != plain {
		t.Errorf("another certificate: %v", err)
	}
	if err := health(t, s, nil); err == nil {
		t.Error("a certificate that nobody knows is trusted")
	}
}

func TestACertificateIsTrustedByWhoVouchesForIt(t *testing.T) {
	s := secure(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := remote.Secure(file, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := health(t, s, c); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeTrustedIsRefusedAtOnce(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, given := range [][2]string{{"", "abc"}, {"", strings.Repeat("ab", 31)}, {empty, ""}, {"/nowhere/ca.pem", ""}, {empty, strings.Repeat("ab", 32)}} {
		if _, err := remote.Secure(given[0], given[1]); err == nil {
			t.Errorf("%v is taken", given)
		}
	}
}
