package env

import (
	"strconv"

	"github.com/spf13/pflag"

	"gaffer/internal/config"
	"gaffer/internal/project/statedir"

	"gaffer/internal/text/display"
)

// ServerFlags adds the flags for the server's address, the token file, and the verification of the
// server's certificate. Each flag except --token-file overrides a setting.
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

// LocalFlag adds the flag --local. With it, the command uses this machine even if the settings name
// a server.
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

// ServerArg returns " --server ADDRESS" if a flag of this command sets the server, and ""
// otherwise. Callers append the result to a command that they suggest to the user, so that the
// suggested command uses the same server.
func (e *Env) ServerArg() string {
	c, err := e.Config()
	if err != nil {
		return ""
	}
	v, err := c.Lookup("server")
	if err != nil || v.Origin.Flag == "" || c.Server() == "" {
		return ""
	}
	return " " + display.ShellLine([]string{"--server", c.Server()})
}

// TokenFile returns the path of the file with the access token. The flag --token-file names it or,
// without the flag, the environment variable GAFFER_TOKEN_FILE. TokenFile ignores that variable if
// GAFFER_TOKEN is set. It returns "" if no file is named.
func (e *Env) TokenFile() string {
	if e.flags.tokenFile != "" {
		return e.flags.tokenFile
	}
	if path := e.Getenv("GAFFER_TOKEN_FILE"); path != "" && e.Getenv("GAFFER_TOKEN") == "" {
		return e.Path(path)
	}
	return ""
}

// StateDir returns the folder of gaffer's persistent state.
func (e *Env) StateDir() (string, error) { return statedir.Path(e.Getenv) }
