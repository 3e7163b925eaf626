package remote

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Secure says how a coordinator proves who it is: by a certificate that one in the
// file ca vouches for, by the very certificate that has a fingerprint, or, without
// either, by what this machine trusts.
func Secure(ca, fingerprint string) (*tls.Config, error) {
	switch {
	case ca != "" && fingerprint != "":
		return nil, errors.New("a file of certificates and a fingerprint: one of them is enough")
	case fingerprint != "":
		return pinned(fingerprint)
	case ca == "":
		return nil, nil
	}
	data, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("certificates: %s has none in the form of PEM", ca)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// pinned trusts one certificate, whoever has made it and whatever its names are.
func pinned(fingerprint string) (*tls.Config, error) {
	want, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(fingerprint), ":", ""))
	if err != nil || len(want) != sha256.Size {
		return nil, fmt.Errorf("fingerprint %.100q: want the SHA-256 that 'gaffer serve --tls' prints", fingerprint)
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // the fingerprint says more than a chain would
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errors.New("the coordinator shows no certificate")
			}
			got := sha256.Sum256(s.PeerCertificates[0].Raw)
			if subtle.ConstantTimeCompare(got[:], want) != 1 {
				return &FingerprintError{hex.EncodeToString(got[:])}
			}
			return nil
		},
	}, nil
}

// FingerprintError is a certificate other than the one that is expected.
type FingerprintError struct{ Got string }

func (e *FingerprintError) Error() string {
	return "the coordinator shows another certificate, with the fingerprint " + e.Got
}
