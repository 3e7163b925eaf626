package notifications

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"gaffer/internal/record/notify"
	"gaffer/internal/ui/phrase"
)

// Overview shows the notification settings and the recent notifications.
type Overview struct {
	Events         []notify.Kind   `json:"events"`
	Quiet          string          `json:"quiet,omitempty"`
	QuietQuestions bool            `json:"quiet_questions"` // quiet hours also hold back notifications about questions
	Burst          int             `json:"burst"`
	Channels       []Channel       `json:"channels"`
	Recent         []notify.Record `json:"lately"` // newest first
}

// Overview returns the settings and the recent notifications: those that were queued at the time t
// or later, and older ones that are not sent yet.
func (n *Notifications) Overview(ctx context.Context, t time.Time) (v Overview, err error) {
	c := n.opts.Config
	v = Overview{Events: kindsOf(c), Burst: c.Number("notify.burst"), QuietQuestions: c.Choice("notify.quiet_questions") == "true"}
	if from, to := c.Hours("notify.quiet"); from != to {
		v.Quiet = fmt.Sprintf("%02d:%02d-%02d:%02d", from/60, from%60, to/60, to%60)
	}
	v.Channels = channelsOf(n.opts.Settings)
	v.Recent, err = notify.Recent(ctx, n.opts.Store, usable(v.Channels), t)
	return v, err
}

// TestResult is the result of a test notification over one channel.
type TestResult struct {
	Channel
	Error string `json:"error,omitempty"`
}

// Test sends a test notification over the named channel, or over all configured channels if name is
// empty. It sends at once, even in quiet hours or while other notifications wait to be sent. It
// needs no store. The parameter id becomes part of the notification's id, so it must be unique.
func Test(ctx context.Context, s Settings, id, name string) (list []TestResult, err error) {
	for _, c := range channelsOf(s) {
		if name != "" && c.Name != name || name == "" && !c.On && c.Problem == "" {
			continue
		}
		list = append(list, sendTest(ctx, c, id, s.Now()))
	}
	if len(list) == 0 {
		return nil, &NoChannelError{name}
	}
	return list, nil
}

// testWithin is how long a test notification may take.
const testWithin = 15 * time.Second

func sendTest(ctx context.Context, c Channel, id string, now time.Time) TestResult {
	t := TestResult{Channel: c}
	if c.channel == nil {
		t.Error = c.Problem + c.Off
		return t
	}
	ctx, cancel := context.WithTimeout(ctx, testWithin)
	defer cancel()
	note := notify.Notification{ID: "test-" + id, Kind: notify.Test, Time: now.UTC(), Title: "a test", Text: "This is how gaffer tells you that it needs you."}
	if err := c.channel.Send(ctx, note); err != nil {
		t.Error = err.Error()
	}
	return t
}

// NoChannelError reports that there is no channel with the name Name. If Name is empty, it reports
// that no channel can be used.
type NoChannelError struct{ Name string }

func (e *NoChannelError) Error() string {
	if e.Name == "" {
		return "no notification channel can be used"
	}
	return fmt.Sprintf("no channel %q", e.Name)
}

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NoChannelError) NotFound() bool { return true }

// Hint returns advice for the user.
func (e *NoChannelError) Hint() string {
	if e.Name != "" {
		return "the channels are desktop, webhook and command"
	}
	return "set notify.webhook or notify.command in your own gaffer.yaml; 'gaffer notify list' says what is wrong with the screen"
}

// ChannelAdvice returns what the user should do about notification channels that do not work.
func ChannelAdvice(s Settings) (advice []string) {
	for _, c := range channelsOf(s) {
		if c.Problem != "" {
			advice = append(advice, fmt.Sprintf("notifications by %s are not sent: %s", c.Name, c.Problem))
		}
	}
	return append(advice, webhookAdvice(s)...)
}

// Advice returns what the user should do about notifications that could not be sent in the last 24
// hours.
func (n *Notifications) Advice(ctx context.Context) (advice []string) {
	recent, err := notify.Recent(ctx, n.opts.Store, usable(channelsOf(n.opts.Settings)), n.opts.Now().Add(-24*time.Hour))
	if err != nil {
		return append(advice, fmt.Sprintf("the recent notifications cannot be read: %v", err))
	}
	given := slices.DeleteFunc(recent, func(r notify.Record) bool { return r.State != notify.GivenUp })
	if len(given) > 0 {
		advice = append(advice, fmt.Sprintf("%s could not be sent in the last 24 hours, the last by %s: %s; 'gaffer notify test' sends a test notification", phrase.Count(len(given), "notification"), given[0].Channel, given[0].Why))
	}
	return advice
}

// webhookAdvice returns what the user should do if others could read or forge webhook messages.
func webhookAdvice(s Settings) (advice []string) {
	address := s.Config.URL("notify.webhook")
	if address == "" {
		return nil
	}
	secret, err := webhookSecret(s)
	if err == nil && len(secret) == 0 {
		advice = append(advice, "requests to notify.webhook are not signed: notify.webhook_secret_file names a file with a secret")
	}
	if info, err := os.Stat(s.Config.File("notify.webhook_secret_file")); err == nil && info.Mode().Perm()&0o077 != 0 {
		advice = append(advice, fmt.Sprintf("others can read the webhook's secret: chmod 600 %s", info.Name()))
	}
	if u, err := url.Parse(address); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		advice = append(advice, "requests to notify.webhook go over the network in plain text: use https")
	}
	return advice
}

func isLoopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
