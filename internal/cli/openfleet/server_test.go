package openfleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/testkit/testenv"
)

// command returns the environment of a command with these variables and flags.
func command(t *testing.T, vars map[string]string, args ...string) *env.Env {
	t.Helper()
	dir := t.TempDir()
	e := &env.Env{Out: new(bytes.Buffer), Err: new(bytes.Buffer), Dir: dir, Now: time.Now, Getenv: func(name string) string {
		if name == "GAFFER_PROJECT" {
			return dir
		}
		return vars[name]
	}}
	cmd := &cobra.Command{}
	FleetFlags(e, cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return e
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// authorization returns a handler that stores the Authorization header of each request in *header.
func authorization(header *string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { *header = r.Header.Get("Authorization") })
}

func TestTheTokenIsOfTheFileThenTheVariableThenThisMachinesServer(t *testing.T) {
	var got string
	s := httptest.NewServer(authorization(&got))
	defer s.Close()
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "file"), "token t1 of worker w; it is not shown again\nfrom-file\n")
	write(t, filepath.Join(dir, "state/gaffer/token"), "from-state\n")
	state := map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state")}
	both := map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state"), "GAFFER_TOKEN": "from-env", "GAFFER_TOKEN_FILE": file}
	for _, c := range []struct {
		vars map[string]string
		args []string
		want string
	}{
		{nil, nil, ""},
		{state, nil, "Bearer from-state"},
		{both, nil, "Bearer from-env"},
		{both, []string{"--token-file", file}, "Bearer from-file"},
		{map[string]string{"GAFFER_TOKEN_FILE": file}, nil, "Bearer from-file"},
	} {
		client, err := Client(command(t, c.vars, append(c.args, "--server", s.URL)...))
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Health(context.Background()); err != nil || got != c.want {
			t.Errorf("%v %v: sent %q, %v; want %q", c.vars, c.args, got, err, c.want)
		}
	}
}

func TestTheTokenOfThisMachineStaysHere(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "gaffer/token"), "mine\n")
	for _, server := range []string{"http://10.1.2.3:4870", "https://localhost.example", "http://127.0.0.1.example", "http://127.0.0.1:4870,http://10.1.2.3:4870"} {
		e := command(t, map[string]string{"XDG_STATE_HOME": dir}, "--server", server)
		servers, err := parseServers(server)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := serverToken(e, servers); err != nil || text != "" {
			t.Errorf("%s would be sent %q, %v", server, text, err)
		}
	}
}

func TestAnUnexpectedCertificateIsReportedWithItsFingerprint(t *testing.T) {
	var got string
	s := httptest.NewTLSServer(authorization(&got))
	defer s.Close()
	sum := sha256.Sum256(s.Certificate().Raw)
	other := command(t, nil, "--server", s.URL, "--fingerprint", strings.Repeat("AB:", 31)+"AB")
	client, err := Client(other)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	err = client.Health(ctx)
	if err == nil || !strings.Contains(err.Error(), formatFingerprint(sum)) {
		t.Errorf("%v, want %s in it", err, formatFingerprint(sum))
	}
	if client, err = Client(command(t, nil, "--server", s.URL, "--fingerprint", formatFingerprint(sum))); err != nil || client.Health(ctx) != nil {
		t.Errorf("the reported value is not accepted: %v", err)
	}
}

func TestAMissingServerOrTokenIsAUsageError(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		vars map[string]string
		want string
		code exit.Code
	}{
		{nil, nil, "no server is named", exit.CodeUsage},
		{[]string{"--local"}, map[string]string{"GAFFER_SERVER": "http://x"}, "no server is named", exit.CodeUsage},
		{[]string{"--server", ""}, map[string]string{"GAFFER_SERVER": "http://x"}, "no server is named", exit.CodeUsage},
		{[]string{"--server", "build:4870"}, nil, "want http://HOST:PORT", exit.CodeUsage},
		{[]string{"--server", "http://x", "--token-file", "none"}, nil, "the token's file", exit.CodeNotFound},
		{[]string{"--server", "http://x", "--token-file", write(t, filepath.Join(dir, "empty"), "\n")}, nil, "holds no token", exit.CodeInvalid},
		{[]string{"--server", "https://x", "--fingerprint", "12:34"}, nil, "fingerprint", exit.CodeUsage},
		{[]string{"--server", "https://x", "--ca", write(t, filepath.Join(dir, "ca"), "x")}, nil, "no certificate", exit.CodeUsage},
	} {
		_, err := Client(command(t, c.vars, c.args...))
		if err == nil || !strings.Contains(err.Error(), c.want) || exit.Of(err) != c.code {
			t.Errorf("%v: %v (%d), want %q (%d)", c.args, err, exit.Of(err), c.want, c.code)
		}
	}
}

func TestACertificateIsKnownByItsFingerprintOrItsAuthority(t *testing.T) {
	testenv.Integration(t)
	var got string
	s := httptest.NewTLSServer(authorization(&got))
	defer s.Close()
	sum := sha256.Sum256(s.Certificate().Raw)
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	dir := t.TempDir()
	ca := write(t, filepath.Join(dir, "ca.pem"), own)
	write(t, filepath.Join(dir, "state/gaffer/tls.pem"), own)
	for _, c := range []struct {
		vars map[string]string
		args []string
		ok   bool
	}{
		{nil, nil, false},
		{nil, []string{"--ca", ca}, true},
		{nil, []string{"--fingerprint", hex.EncodeToString(sum[:])}, true},
		{nil, []string{"--fingerprint", strings.Repeat("00:", 31) + "00"}, false},
		{map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state")}, nil, true},
	} {
		client, err := Client(command(t, c.vars, append(c.args, "--server", s.URL)...))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
		if err := client.Health(ctx); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.args, err)
		}
		cancel()
	}
}
