package app

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
	// secretEnv may hold what the file of the webhook's secret would.
	secretEnv = "GAFFER_NOTIFY_WEBHOOK_SECRET"
	secretMax = 4 << 10
)

// NotifyChannel is a way to tell a person something, as the settings have it.
type NotifyChannel struct {
	Name    string `json:"name"`
	On      bool   `json:"on"`                // it is used
	Where   string `json:"where,omitempty"`   // without what is secret
	Problem string `json:"problem,omitempty"` // why it cannot be used, though it is set
	Off     string `json:"off,omitempty"`     // why it is not used

	channel notify.Channel
}

// notifyChannels are the channels in the order of the settings.
func notifyChannels(opts Options) []NotifyChannel {
	list := []NotifyChannel{desktopChannel(opts), webhookChannel(opts), commandChannel(opts.Config)}
	for i := range list {
		if c := &list[i]; c.channel != nil {
			c.On, c.Where = true, c.channel.Where()
		}
	}
	return list
}

func desktopChannel(opts Options) NotifyChannel {
	c := NotifyChannel{Name: "desktop"}
	if opts.Config.Choice("notify.desktop") == "never" {
		c.Off = "notify.desktop is never"
		return c
	}
	name, _ := os.Hostname() // a machine without a name has one screen
	d, err := notify.FindDesktop(runtime.GOOS, opts.Getenv, exec.LookPath, fmt.Sprintf("%s %d", name, os.Getuid()))
	if err != nil {
		c.Off = err.Error()
		return c
	}
	c.channel = d
	return c
}

func webhookChannel(opts Options) NotifyChannel {
	c := NotifyChannel{Name: "webhook"}
	address := opts.Config.URL("notify.webhook")
	if address == "" {
		c.Off = "notify.webhook is not set"
		return c
	}
	secret, err := webhookSecret(opts)
	if err != nil {
		c.Problem = "the secret: " + err.Error()
		return c
	}
	c.channel = notify.NewWebhook(address, secret, "gaffer", opts.Now)
	return c
}

// webhookSecret is what signs messages, nothing if none is set. One that is set
// and cannot be read is an error: a receiver would take what is not signed for
// forged, or worse, for good.
func webhookSecret(opts Options) ([]byte, error) {
	if text := opts.Getenv(secretEnv); text != "" {
		return []byte(text), nil
	}
	path := opts.Config.File("notify.webhook_secret_file")
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

func commandChannel(c *config.Config) NotifyChannel {
	ch := NotifyChannel{Name: "command"}
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

// usable are the channels that can be used.
func usable(all []NotifyChannel) (list []notify.Channel) {
	for _, c := range all {
		if c.channel != nil {
			list = append(list, c.channel)
		}
	}
	return list
}
