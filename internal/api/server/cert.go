package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	certLife  = 365 * 24 * time.Hour
	certRenew = 30 * 24 * time.Hour
)

// Certificate loads a certificate and its key from PEM files.
func Certificate(certFile, keyFile string) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("load the certificate: %w", err)
	}
	return tlsConfig(cert), nil
}

func tlsConfig(cert tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
}

// SelfSigned returns a TLS configuration with a self-signed certificate. It stores the certificate
// and its key in file, which only the file's owner can read. Later calls use the stored
// certificate, so that its fingerprint stays the same. SelfSigned creates a new certificate only if
// none is stored, or if the stored one is not valid yet, expires within 30 days or lacks one of the
// host names in hosts. If the stored certificate only lacks an IP address in hosts, SelfSigned
// creates a new one only if configured contains this address, too. Otherwise each change of the
// machine's address would change the fingerprint, by which clients identify the server.
func SelfSigned(file string, hosts, configured []string, now time.Time) (*tls.Config, error) {
	cert, err := loadPair(file)
	if err == nil && isUsable(cert.Leaf, hosts, configured, now) {
		return tlsConfig(cert), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("load the self-made certificate: %w", err)
	}
	pair, err := makePair(hosts, now)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	if err := writePair(file, pair); err != nil {
		return nil, fmt.Errorf("keep the self-made certificate: %w", err)
	}
	if cert, err = loadPair(file); err != nil {
		return nil, fmt.Errorf("load the self-made certificate: %w", err)
	}
	return tlsConfig(cert), nil
}

// Fingerprint returns the SHA-256 of the server's certificate as hex pairs, for example "AB:CD:…".
func Fingerprint(config *tls.Config) string {
	sum := sha256.Sum256(config.Certificates[0].Certificate[0])
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}

func loadPair(file string) (tls.Certificate, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(data, data)
}

func isUsable(cert *x509.Certificate, hosts, configured []string, now time.Time) bool {
	if now.Before(cert.NotBefore) || now.Add(certRenew).After(cert.NotAfter) {
		return false
	}
	for _, host := range hosts {
		named := net.ParseIP(host) == nil || slices.Contains(configured, host)
		if named && cert.VerifyHostname(host) != nil {
			return false
		}
	}
	return true
}

func makePair(hosts []string, now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "gaffer coordinator"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	b.Write(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return b.Bytes(), nil
}

// writePair writes the certificate and its key as one file, so that they always match.
func writePair(file string, pair []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".tls-") // created with mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(pair)
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temp.Name()) // ignore the error: the caller gets only the first error
	}
	return err
}
