package notifications

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"gaffer/internal/config"
	"gaffer/internal/record/notify"
	"gaffer/statefile"
	"gaffer/statefile/host"
)

const (
	// secretEnv is the name of the environment variable with the webhook's secret. The setting
	// notify.webhook_secret_file can name a file with the secret instead.
	secretEnv = "GAFFER_NOTIFY_WEBHOOK_SECRET"
	secretMax = 4 << 10
)

// Channel describes a notification channel, such as the desktop, with its settings.
type Channel struct {
	Name    string `json:"name"`
	On      bool   `json:"on"`                // notifications are sent over this channel
	Where   string `json:"where,omitempty"`   // address of the channel, without secrets
	Problem string `json:"problem,omitempty"` // why a configured channel cannot be used; empty if it can
	Off     string `json:"off,omitempty"`     // why the channel is off, such as a missing setting; empty if it is on or has a problem

	channel notify.Channel
}

// channelsOf returns the channels desktop, webhook and command, in this order. The list includes
// those that are off.
func channelsOf(s Settings) []Channel {
	list := []Channel{desktopChannel(s), webhookChannel(s), commandChannel(s.Config)}
	for i := range list {
		if c := &list[i]; c.channel != nil {
			c.On, c.Where = true, c.channel.Where()
		}
	}
	return list
}

func desktopChannel(s Settings) Channel {
	c := Channel{Name: "desktop"}
	if s.Config.Choice("notify.desktop") == "never" {
		c.Off = "notify.desktop is never"
		return c
	}
	name, _ := os.Hostname() // ignore the error: without a name, the user id alone identifies the desktop
	d, err := notify.FindDesktop(runtime.GOOS, s.Getenv, exec.LookPath, fmt.Sprintf("%s %d", name, os.Getuid()))
	if err != nil {
		c.Off = err.Error()
		return c
	}
	c.channel = d
	return c
}

func webhookChannel(s Settings) Channel {
	c := Channel{Name: "webhook"}
	address := s.Config.URL("notify.webhook")
	if address == "" {
		c.Off = "notify.webhook is not set"
		return c
	}
	secret, err := webhookSecret(s)
	if err != nil {
		c.Problem = "the secret: " + err.Error()
		return c
	}
	c.channel = notify.NewWebhook(address, secret, "gaffer", s.Now)
	return c
}

// webhookSecret returns the secret that signs messages, or nil if none is configured. If a secret
// is configured but cannot be read, it returns an error, because messages must not be sent
// unsigned.
func webhookSecret(s Settings) ([]byte, error) {
	if text := s.Getenv(secretEnv); text != "" {
		return []byte(text), nil
	}
	path := s.Config.File("notify.webhook_secret_file")
	if path == "" {
		return nil, nil
	}
	data, err := statefile.ReadBytes(host.OS(), path)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(string(data))
	if text == "" || len(text) > secretMax {
		return nil, fmt.Errorf("%s: found %d bytes, want 1 to %d", path, len(text), secretMax)
	}
	return []byte(text), nil
}

func commandChannel(c *config.Config) Channel {
	ch := Channel{Name: "command"}
	argv := c.List("notify.command")
	if len(argv) == 0 {
		ch.Off = "notify.command is not set"
		return ch
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		ch.Problem = err.Error()
		return ch
	}
	ch.channel = &notify.Command{Argv: argv}
	return ch
}

// usable returns the channels that are on and work.
func usable(all []Channel) (list []notify.Channel) {
	for _, c := range all {
		if c.channel != nil {
			list = append(list, c.channel)
		}
	}
	return list
}
