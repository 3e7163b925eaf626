package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// The HTTP headers with which gaffer describes a message. HeaderSignature is added only if messages
// are signed.
const (
	HeaderID   = "Gaffer-Notification"
	HeaderTime = "Gaffer-Timestamp" // time of sending, in seconds since 1970
	// HeaderSignature has a value like "sha256=5c1e…". The digits are the HMAC in hex of the value
	// of HeaderTime, a full stop and the body.
	HeaderSignature = "Gaffer-Signature"
)

// Webhook is a [Channel] that sends notifications as HTTP POST requests.
type Webhook struct {
	URL    string
	Secret []byte // key that signs every message; if empty, messages are not signed
	Agent  string // value of the User-Agent header
	Now    func() time.Time

	client *http.Client
}

// NewWebhook returns a channel that posts notifications to a URL. The channel verifies TLS
// certificates and does not follow redirects.
func NewWebhook(address string, secret []byte, agent string, now func() time.Time) *Webhook {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes, transport.MaxIdleConns = 64<<10, 1
	return &Webhook{URL: address, Secret: secret, Agent: agent, Now: now, client: &http.Client{
		Transport: transport, Timeout: sendWithin,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Name implements [Channel].
func (w *Webhook) Name() string { return "webhook" }

// Key implements [Channel].
func (w *Webhook) Key() string { return keyOf(w.Name(), w.URL) }

// Where returns a text for the user: the scheme and the host of the URL, and whether messages are
// signed. It omits the path, because the path of a webhook's URL is often a secret.
func (w *Webhook) Where() string {
	u, err := url.Parse(w.URL)
	if err != nil {
		return "an address that is no URL"
	}
	signed := "signed"
	if len(w.Secret) == 0 {
		signed = "not signed"
	}
	return fmt.Sprintf("%s://%s/…, %s", u.Scheme, u.Host, signed)
}

// Send implements [Channel].
func (w *Webhook) Send(ctx context.Context, n Notification) error {
	req, err := w.request(ctx, n)
	if err != nil {
		return err
	}
	res, err := w.client.Do(req)
	if err != nil {
		return &TemporaryError{Err: withoutURL(err)}
	}
	defer func() { _ = res.Body.Close() }()                      // ignore the error: the body was only read
	said, _ := io.ReadAll(io.LimitReader(res.Body, 4*maxText))   // read only the start, which is used in an error message
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // read the rest of a short body, so that the connection can be reused
	return responseError(res.StatusCode, res.Header, line(string(said), maxText/2))
}

func (w *Webhook) request(ctx context.Context, n Notification) (*http.Request, error) {
	body, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return nil, withoutURL(err)
	}
	at := strconv.FormatInt(w.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", w.Agent)
	req.Header.Set(HeaderID, n.ID)
	req.Header.Set(HeaderTime, at)
	if len(w.Secret) > 0 {
		req.Header.Set(HeaderSignature, Sign(w.Secret, at, body))
	}
	return req, nil
}

// Sign returns the value of the signature header for a message. timestamp is the time of sending,
// in seconds since 1970.
func Sign(secret []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// withoutURL returns an error of the HTTP client without the URL, which may be a secret.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		if u.Timeout() {
			return errors.New("no answer in time")
		}
		return u.Err
	}
	return err
}

// responseError returns the error for a response with the status code, or nil for a success. If a
// retry may succeed, the error is a [*TemporaryError].
func responseError(code int, header http.Header, said string) error {
	if code >= 200 && code < 300 {
		return nil
	}
	err := fmt.Errorf("the answer was %d %s", code, http.StatusText(code))
	if said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	switch {
	case code >= 300 && code < 400:
		return fmt.Errorf("%w; redirects are not followed, notify.webhook must be the place itself", err)
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests:
		return &TemporaryError{Err: err, After: retryAfter(header)}
	}
	return err
}

func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > int(maxBackoff/time.Second) {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
