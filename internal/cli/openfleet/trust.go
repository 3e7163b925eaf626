package openfleet

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/config"
	"gaffer/internal/exit"
)

// tlsConfig returns the TLS configuration for the servers, or nil for Go's default. If a
// fingerprint is configured, it accepts only the certificate with that fingerprint. Otherwise, if
// certificate authorities are configured, it accepts only their certificates. If neither is
// configured, it accepts those of the system's authorities and, for a server on this machine, the
// certificate that the server created.
func tlsConfig(e *env.Env, c *config.Config, servers []*url.URL) (*tls.Config, error) {
	if !slices.ContainsFunc(servers, func(u *url.URL) bool { return u.Scheme == "https" }) {
		return nil, nil
	}
	if text := c.Text("server_fingerprint"); text != "" {
		sum, err := parseFingerprint(text)
		if err != nil {
			return nil, exit.Usage(err)
		}
		return pinned(sum), nil
	}
	if path := c.File("server_ca"); path != "" {
		pool := x509.NewCertPool()
		if err := addCertificates(pool, path); err != nil {
			return nil, exit.Usage(fmt.Errorf("the server's authorities: %w", err))
		}
		return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
	}
	return trustOwnServer(e, servers), nil
}

// trustOwnServer returns a TLS configuration that accepts certificates of the system's authorities,
// and the certificate that this user's server on this machine has created. It returns nil, which
// means Go's default, if one of the servers is on another machine or there is no such certificate.
func trustOwnServer(e *env.Env, servers []*url.URL) *tls.Config {
	state, err := e.StateDir()
	if err != nil || !onLoopback(servers) {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if addCertificates(pool, filepath.Join(state, "tls.pem")) != nil {
		return nil // no server of this user has created a certificate
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func parseFingerprint(text string) (sum [sha256.Size]byte, err error) {
	plain := strings.NewReplacer(":", "", " ", "", "sha256", "", "SHA256", "").Replace(text)
	raw, err := hex.DecodeString(plain)
	if err != nil || len(raw) != len(sum) {
		return sum, errors.New("the server's fingerprint: want a SHA-256 as 'gaffer serve --tls' prints it, 64 hexadecimal digits with or without colons")
	}
	return [sha256.Size]byte(raw), nil
}

// formatFingerprint formats a fingerprint as 'gaffer serve' prints it.
func formatFingerprint(sum [sha256.Size]byte) string {
	return strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":")
}

// pinned returns a TLS configuration that accepts only the certificate with this SHA-256 sum. It
// ignores the host name and the authority of the certificate.
func pinned(sum [sha256.Size]byte) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // the certificate itself is compared below
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errors.New("the server shows no certificate")
			}
			if got := sha256.Sum256(s.PeerCertificates[0].Raw); got != sum {
				return &otherServer{formatFingerprint(got)}
			}
			return nil
		},
	}
}

// otherServer is the error for a server whose certificate does not have the configured fingerprint.
type otherServer struct{ fingerprint string }

func (e *otherServer) Error() string {
	return "the server's certificate has another fingerprint than the one that was given: " + e.fingerprint
}

func (*otherServer) Untrusted() bool { return true }

// addCertificates adds the certificates in a file to the pool.
func addCertificates(pool *x509.CertPool, path string) error {
	f, err := openRegular(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // ignore the error: the file was only read
	const most = 4 << 20
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return err
	}
	if !pool.AppendCertsFromPEM(data) {
		return fmt.Errorf("%s has no certificate in PEM form", path)
	}
	return nil
}
