package env

import (
	"strconv"

	"github.com/spf13/pflag"

	"gaffer/internal/config"
	"gaffer/internal/project/statedir"

	"gaffer/internal/text/display"
)

// ServerFlags declares the flags that say which server is asked and how it is
// known: each of them is a setting, but for the token's file.
func (e *Env) ServerFlags(flags *pflag.FlagSet) {
	set := func(key, flag, text string) error {
		e.flags.settings = append(e.flags.settings, config.Setting{Name: key, Text: text, Flag: "--" + flag})
		return nil
	}
	flags.Func("server", "ask the coordinator at `URL`, see 'gaffer help server'", func(text string) error { return set("server", "server", text) })
	flags.Func("token-file", "the token is in `FILE`", func(text string) error { e.flags.tokenFile = e.Path(text); return nil })
	flags.Func("ca", "the server's certificate comes from one of those in `FILE`", func(text string) error { return set("server_ca", "ca", e.Path(text)) })
	flags.Func("fingerprint", "the server's certificate has this `SHA-256`", func(text string) error { return set("server_fingerprint", "fingerprint", text) })
}

// LocalFlag declares --local, which turns off the server that the settings name.
func (e *Env) LocalFlag(flags *pflag.FlagSet) {
	flags.BoolFunc("local", "ask this machine, whatever server the settings name", func(text string) error {
		yes, err := strconv.ParseBool(text)
		if err != nil || !yes {
			return err
		}
		e.flags.settings = append(e.flags.settings, config.Setting{Name: "server", Flag: "--local"})
		return nil
	})
}

// ServerArg is what a command line that is suggested needs to ask the same server
// as this one, with a space before it: nothing, unless a flag named it.
func (e *Env) ServerArg() string {
	c, err := e.Config()
	if err != nil {
		return ""
	}
	v, err := c.Lookup("server")
	if err != nil || v.Source.Flag == "" || c.Server() == "" {
		return ""
	}
	return " " + display.ShellLine([]string{"--server", c.Server()})
}

// TokenFile is the file that the command line or the environment names for the
// token, or "".
func (e *Env) TokenFile() string {
	if e.flags.tokenFile != "" {
		return e.flags.tokenFile
	}
	if path := e.Getenv("GAFFER_TOKEN_FILE"); path != "" && e.Getenv("GAFFER_TOKEN") == "" {
		return e.Path(path)
	}
	return ""
}

// StateDir is where gaffer keeps what must outlive it.
func (e *Env) StateDir() (string, error) { return statedir.Path(e.Getenv) }
