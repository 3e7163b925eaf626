package permissions

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/config"
	"gaffer/internal/engine/permission"
	"gaffer/internal/exit"
	"gaffer/internal/ui/phrase"
)

// verbs returns the answers that a permission rule can give to an agent's request.
func verbs() []string { return []string{"allow", "deny", "ask"} }

// key returns the name of the setting that lists the permission rules with this answer. For the
// answer "allow", it is "permissions.allow".
func key(verb string) string { return "permissions." + verb }

func keys() (names []string) {
	for _, v := range verbs() {
		names = append(names, key(v))
	}
	return names
}

// change returns the command 'gaffer permissions allow', 'deny' or 'ask', depending on verb. The
// command adds rules with this answer to the user's settings.
func change(e *env.Env, verb string) *cobra.Command {
	does := map[string]string{"allow": "allows", "deny": "denies", "ask": "asks you about"}[verb]
	cmd := &cobra.Command{
		Use: verb + " RULE…", DisableFlagsInUseLine: true,
		Short: map[string]string{
			"allow": "Allow requests in all runs", "deny": "Deny requests in all runs", "ask": "Be asked, whatever else allows it",
		}[verb],
		Long: fmt.Sprintf(`Write rules to your own settings file: gaffer then %s requests that
they match, in all projects. A rule that has another answer there gets this one.
'gaffer permissions remove' undoes it.`, does),
		Example: map[string]string{
			"allow": "  gaffer permissions allow 'Bash(go test:*)' 'Edit(src/**)'",
			"deny":  "  gaffer permissions deny 'Bash(git push:*)' WebFetch",
			"ask":   "  gaffer permissions ask 'Bash(rm:*)'",
		}[verb],
		Args: cobra.MinimumNArgs(1),
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		rules, err := parseRules(args)
		if err != nil {
			return err
		}
		var added []string
		path, err := editSettings(e, "gaffer permissions "+verb, func(lists map[string][]string) {
			added = nil
			for _, other := range verbs() {
				if other != verb {
					lists[key(other)] = without(lists[key(other)], rules)
				}
			}
			for _, rule := range rules {
				if !slices.Contains(lists[key(verb)], rule) {
					lists[key(verb)] = append(slices.Clip(lists[key(verb)]), rule)
					added = append(added, rule)
				}
			}
		})
		if err != nil {
			return err
		}
		if *asJSON {
			return e.PrintJSON(edited{File: path, Answer: verb, Rules: append([]string{}, added...)})
		}
		for _, rule := range rules {
			known := ""
			if !slices.Contains(added, rule) {
				known = " already"
			}
			e.Talk("%s: %s%s, in %s", phrase.Line(rule), verb, known, phrase.Line(path))
		}
		warnOverridden(e, verb)
		return nil
	}
	return cmd
}

// edited is the JSON that a command prints after it has added or removed rules.
type edited struct {
	File   string   `json:"file"`
	Answer string   `json:"answer,omitempty"` // allow, deny or ask; empty if rules were removed
	Rules  []string `json:"rules"`            // the rules that were added or removed
}

func remove(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove RULE…", DisableFlagsInUseLine: true,
		Short: "Remove rules from your settings",
		Long: `Remove rules from your own settings file, whether they allow, deny or ask. What
an answer with --for has allowed is removed by 'gaffer permissions revoke'.`,
		Example: "  gaffer permissions remove 'Bash(go test:*)'",
		Args:    cobra.MinimumNArgs(1),
	}
	asJSON := env.JSONFlag(cmd)
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return ownRules(e), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		var removed []string
		path, err := editSettings(e, "gaffer permissions remove", func(lists map[string][]string) {
			removed = nil
			for _, rule := range args {
				rule = strings.TrimSpace(rule)
				for _, k := range keys() {
					if slices.Contains(lists[k], rule) {
						lists[k], removed = without(lists[k], []string{rule}), append(removed, rule)
					}
				}
			}
		})
		if err != nil {
			return err
		}
		var missing error
		for _, rule := range args {
			if !slices.Contains(removed, strings.TrimSpace(rule)) {
				missing = exit.WithHint(exit.NotFound(fmt.Errorf("your settings have no rule %q", rule)),
					"'gaffer config permissions.allow' shows those that allow; 'gaffer permissions grants' lists answers with --for")
			}
		}
		if len(removed) == 0 {
			return missing
		}
		if *asJSON {
			return errors.Join(missing, e.PrintJSON(edited{File: path, Rules: removed}))
		}
		for _, rule := range removed {
			e.Talk("%s: removed from %s", phrase.Line(rule), phrase.Line(path))
		}
		return missing
	}
	return cmd
}

// parseRules returns the permission rules in texts, without surrounding spaces and without
// duplicates. It returns an error for the first text that is not a valid rule.
func parseRules(texts []string) (rules []string, err error) {
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if _, err := permission.Parse(text); err != nil {
			return nil, exit.Usage(err)
		}
		if !slices.Contains(rules, text) {
			rules = append(rules, text)
		}
	}
	return rules, nil
}

// editSettings changes the rules in the user's settings file, and returns the file's path. It
// returns an error if an agent has started the command.
func editSettings(e *env.Env, command string, edit func(lists map[string][]string)) (string, error) {
	if err := e.RefuseAgents(command); err != nil {
		return "", err
	}
	path := config.UserFile(e.Getenv)
	if path == "" {
		return "", exit.WithHint(exit.Usage(errors.New("you have no settings file: HOME and XDG_CONFIG_HOME are not set")), "set HOME")
	}
	return path, config.EditLists(path, keys(), edit)
}

// ownRules returns all permission rules in the user's settings, for shell completion.
func ownRules(e *env.Env) (rules []string) {
	c, err := e.Config()
	if err != nil {
		return nil
	}
	for _, k := range keys() {
		rules = append(rules, c.List(k)...)
	}
	return rules
}

// warnOverridden warns the user if an environment variable or a flag replaces the list of rules
// that was changed in the settings file. The change then has no effect.
func warnOverridden(e *env.Env, verb string) {
	c, err := e.Config()
	if err != nil {
		return
	}
	if v, err := c.Lookup(key(verb)); err == nil && (v.Origin.Env != "" || v.Origin.Flag != "") {
		e.Talk("it has no effect here, because %s replaces the list", v.Origin)
	}
}

func without(list, drop []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(drop, s) })
}

// quoted returns a text as a YAML string in double quotes.
func quoted(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // ignore the error: a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
