// Command helpfiles writes gaffer's man pages and shell completion scripts into a folder, at the
// paths that they have below /usr after an installation. The man pages contain the date in the
// environment variable SOURCE_DATE_EPOCH. script/release runs this command.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"gaffer/internal/cli"
	"gaffer/internal/cli/env"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: helpfiles VERSION FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "helpfiles:", err)
		os.Exit(1)
	}
}

func write(version, dir string) error {
	root := cli.Commands(&env.Env{Version: version, Getenv: func(string) string { return "" }})
	if err := writePages(root, version, filepath.Join(dir, "share", "man", "man1")); err != nil {
		return err
	}
	for _, c := range []struct {
		path  string
		write func(path string) error
	}{
		{"share/bash-completion/completions/gaffer", func(path string) error { return root.GenBashCompletionFileV2(path, true) }},
		{"share/zsh/site-functions/_gaffer", root.GenZshCompletionFile},
		{"share/fish/vendor_completions.d/gaffer.fish", func(path string) error { return root.GenFishCompletionFile(path, true) }},
		{"share/gaffer/completions/gaffer.ps1", root.GenPowerShellCompletionFileWithDesc},
	} {
		path := filepath.Join(dir, filepath.FromSlash(c.path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := c.write(path); err != nil {
			return err
		}
	}
	return nil
}

// writePages writes one man page for each command of gaffer.
func writePages(root *cobra.Command, version, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true // omit the line of each man page that names the generator and the date
	root.Long, root.Short = root.Short, strings.TrimPrefix(root.Short, "gaffer ")
	listSubcommands(root)
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "gaffer " + version, Manual: "gaffer"}, dir)
}

// listSubcommands adds a list of subcommands to the description of cmd and of every command below
// it that has subcommands. Without this list, cobra only names the subcommands under "see also".
func listSubcommands(cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	if cmd.Long == "" {
		cmd.Long = cmd.Short
	}
	cmd.Long += "\n\n# COMMANDS\n"
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			cmd.Long += "\n**" + sub.CommandPath() + "**\n:   " + sub.Short + "\n"
			listSubcommands(sub)
		}
	}
}
