package config

import (
	"errors"
	"strings"
	"testing"
)

func TestWhatCouldRunProgramsSendThingsElsewhereOrAnswerForTheUserIsTheirOwn(t *testing.T) {
	for key, value := range map[string]string{
		"db":                         "postgres://gaffer@db/fleet",
		"server":                     "https://build.example:4870",
		"server_ca":                  "/etc/fleet/ca.pem",
		"server_fingerprint":         "2F91",
		"hooks.answer_within":        "2m",
		"hooks.share":                `"false"`,
		"notify.webhook":             "https://h.example/x",
		"notify.webhook_secret_file": "/etc/secret",
		"notify.command":             `["rm", "-rf"]`,
	} {
		yaml := key + ": " + value
		if group, name, ok := strings.Cut(key, "."); ok {
			yaml = group + ": {" + name + ": " + value + "}"
		}
		c, _, err := sources{user: yaml}.load(t)
		if err != nil {
			t.Errorf("%s in the user's file: %v", key, err)
			continue
		}
		if v, err := c.Lookup(key); err != nil || !strings.HasSuffix(v.Origin.String(), "gaffer.yaml:1") {
			t.Errorf("%s: %v, %v", key, v, err)
		}
		_, root, err := sources{project: yaml, user: yaml}.load(t)
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), root) || !strings.Contains(err.Error(), key+": found in a project's file") ||
			!strings.Contains(wrong.Hint(), ".config/gaffer/gaffer.yaml, or into GAFFER_") {
			t.Errorf("%s in a project's file: %v", key, err)
		}
		value = strings.Trim(value, `"`)
		env := map[string]string{"GAFFER_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_")): value}
		if _, _, err := (sources{env: env, flags: []Setting{{key, value, "--set"}}}).load(t); err != nil {
			t.Errorf("%s in the environment: %v", key, err)
		}
	}
	project := "notify: {events: [waiting], desktop: never, quiet: '22:00-7:00', quiet_questions: false, burst: 3}"
	c, _, err := sources{project: project}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	if from, to := c.Hours("notify.quiet"); from != 22*60 || to != 7*60 {
		t.Errorf("quiet from %d to %d", from, to)
	}
	if got := c.List("notify.events"); len(got) != 1 || got[0] != "waiting" || c.URL("notify.webhook") != "" {
		t.Errorf("%q, %q", got, c.URL("notify.webhook"))
	}
}

func TestNobodyWaitsForAnAnswerForMoreThanADay(t *testing.T) {
	if _, _, err := (sources{user: "hooks: {answer_within: 24h}"}).load(t); err != nil {
		t.Error(err)
	}
	_, _, err := sources{user: "hooks: {answer_within: 25h}"}.load(t)
	if err == nil || !strings.Contains(err.Error(), `hooks.answer_within: found "25h", want a duration of at most 24h0m0s`) {
		t.Error(err)
	}
}

func TestMistakesInTheSettingsOfNotifications(t *testing.T) {
	for text, want := range map[string]string{
		"events: [waiting, fialed]":          `notify.events: found "fialed", want waiting, failed, offline, finished or budget`,
		"events: everything":                 `notify.events: found "everything", want`,
		"quiet: 22-7":                        `notify.quiet: found "22-7", want two times of the day`,
		"quiet: '25:00-07:00'":               "want two times of the day",
		"quiet: '07:00-07:00'":               "want two times of the day",
		"webhook: hooks.example":             "notify.webhook: found what is no such URL",
		"webhook: file:///SECRET":            "notify.webhook: found what is no such URL, want https://",
		"webhook_secret_file: relative/path": `notify.webhook_secret_file: found "relative/path", want an absolute path`,
		"report: 7":                          `notify.report: found "7", want a time of the day, such as 07:00, or none`,
		"burst: 0":                           `notify.burst: found "0", want a number from 1 to 1000`,
		"desktop: yes":                       `notify.desktop: found "yes", want auto or never`,
		"quiet_question: true":               `unknown key "notify.quiet_question"`,
	} {
		_, _, err := sources{user: "notify: {" + text + "}"}.load(t)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
