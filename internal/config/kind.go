package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gaffer/internal/text/truncate"
)

// Kind is the type of a setting's value.
type Kind int

// The kinds of settings. The comment on each kind says which values are valid.
const (
	Path     Kind = iota // path of a file or folder, absolute or relative to the project's root
	Duration             // for example 500ms, 30s or 2m
	Choice               // one of the values that the key allows
	Database             // path of a file, a PostgreSQL URL, or "auto"
	Number               // a whole number in the range that the key allows
	Text                 // any text of one line
	List                 // a JSON list of strings, or a single string
	Server               // addresses of coordinators, separated by commas; "none" or empty means no server
	File                 // path of a file, absolute or relative to the project's root, or "none"
	URL                  // an HTTP or HTTPS URL, or "none"
	Hours                // a daily time range, for example 22:00-07:00, or "none"
	Money                // an amount of US dollars above 0, for example 20 or 0.50, or "none"
	Clock                // a time of the day, for example 07:00, or "none"
)

// none is the value that switches a setting off.
const none = "none"

// check returns an error if text is not a valid value for the key. The error says what was found
// and what is allowed.
func (k Key) check(text string) error {
	switch k.Kind {
	case Duration:
		return k.checkDuration(text)
	case Choice:
		if !slices.Contains(k.Choices, text) {
			return fmt.Errorf("found %s, want %s", quote(text), orList(k.Choices))
		}
	case Path, Database:
		return checkPath(text)
	case File:
		return k.checkFile(text)
	case Number:
		return k.checkNumber(text)
	case Text:
		return checkLine(text)
	case List:
		return k.checkList(text)
	case URL:
		return checkURL(text)
	case Hours:
		_, _, err := parseHours(text)
		return err
	case Clock:
		_, _, err := parseClock(text)
		return err
	case Server:
		return checkServer(text)
	case Money:
		_, err := parseMoney(text)
		return err
	}
	return nil
}

func (k Key) checkNumber(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < k.Min || n > k.Max {
		return fmt.Errorf("found %s, want a number from %d to %d", quote(text), k.Min, k.Max)
	}
	return nil
}

func checkLine(text string) error {
	if strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) {
		return fmt.Errorf("found %s, want text in one line", quote(text))
	}
	return nil
}

func (k Key) checkList(text string) error {
	for _, item := range splitList(text) {
		if len(k.Choices) > 0 && !slices.Contains(k.Choices, item) {
			return fmt.Errorf("found %s, want %s", quote(item), orList(k.Choices))
		}
		if strings.TrimSpace(item) == "" || strings.ContainsRune(item, 0) || !utf8.ValidString(item) {
			return fmt.Errorf("found %s, want text that is not empty", quote(item))
		}
	}
	return nil
}

// splitList returns the items of a value of kind List. If text is not a JSON list of strings, it is
// a single item, even if it starts with a bracket: it may be a shell command such as "[ -f x ]".
func splitList(text string) []string {
	var list []string
	if strings.HasPrefix(strings.TrimSpace(text), "[") && json.Unmarshal([]byte(text), &list) == nil {
		return list
	}
	return []string{text}
}

// joinList returns the items as a JSON list, which splitList can read.
func joinList(list []string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // keep <, > and & as they are, because users read the text
	if err := e.Encode(list); err != nil {
		panic("config: texts without JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func checkPath(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("found an empty path, want a folder relative to the project's root, or an absolute one")
	case strings.ContainsRune(text, 0):
		return fmt.Errorf("found a NUL character in the path %s", quote(text))
	}
	return nil
}

// checkFile checks the value of a key of kind File. If only the user may set the key, the path must
// be absolute. A relative path would name a file in the project, which may come from somebody else.
func (k Key) checkFile(text string) error {
	if k.Own && text != none && !filepath.IsAbs(text) {
		return fmt.Errorf("found %s, want an absolute path", quote(text))
	}
	return checkPath(text)
}

// checkServer checks the addresses of coordinators, which are separated by commas.
func checkServer(text string) error {
	if text == "" || text == none {
		return nil
	}
	for _, address := range strings.Split(text, ",") {
		if err := checkAddress(strings.TrimSpace(address)); err != nil {
			return err
		}
	}
	return nil
}

// checkAddress checks the address of one coordinator. If the address has the form
// SCHEME://USER:PASSWORD@HOST or USER:PASSWORD@HOST, the error does not show the password.
func checkAddress(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("found what is no URL, want http://HOST:PORT or https://HOST:PORT")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("found %s, want http://HOST:PORT or https://HOST:PORT", quote(withoutPassword(u)))
	}
	return nil
}

// withoutPassword returns the text of a URL for an error message, without its password. If the URL
// has no scheme, as in USER:PASSWORD@HOST, the package url does not recognize the password. Then
// withoutPassword leaves out everything before the last @.
func withoutPassword(u *url.URL) string {
	text := u.Redacted()
	if at := strings.LastIndex(text, "@"); at >= 0 && u.User == nil {
		return "…" + text[at:]
	}
	return text
}

// checkURL checks the URL of a webhook. The error does not show any part of the URL, because the
// URL may be a secret: everyone who knows it can send messages.
func checkURL(text string) error {
	if text == none {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Fragment != "" {
		return errors.New("found what is no such URL, want https://HOST/PATH or http://HOST/PATH")
	}
	return nil
}

// parseHours parses a daily time range. It returns the start and the end of the range in minutes
// after midnight. Both are 0 if text is "none".
func parseHours(text string) (from, to int, err error) {
	if text == none {
		return 0, 0, nil
	}
	begin, end, _ := strings.Cut(text, "-")
	a, err := time.Parse("15:04", strings.TrimSpace(begin))
	b, err2 := time.Parse("15:04", strings.TrimSpace(end))
	if err != nil || err2 != nil || a.Equal(b) {
		return 0, 0, fmt.Errorf("found %s, want two times of the day, such as 22:00-07:00, or none", quote(text))
	}
	return a.Hour()*60 + a.Minute(), b.Hour()*60 + b.Minute(), nil
}

// parseMoney parses an amount of US dollars. It returns 0 for "none".
func parseMoney(text string) (float64, error) {
	if text == none {
		return 0, nil
	}
	const most = 1e9
	usd, err := strconv.ParseFloat(text, 64)
	if err != nil || !(usd >= 0.000001 && usd <= most) {
		return 0, fmt.Errorf("found %s, want US dollars above 0, such as 20 or 0.50, or none", quote(text))
	}
	return usd, nil
}

// parseClock parses a time of the day. It returns the minutes after midnight. If text is "none",
// the second result is false.
func parseClock(text string) (minute int, set bool, err error) {
	if text == none {
		return 0, false, nil
	}
	at, err := time.Parse("15:04", strings.TrimSpace(text))
	if err != nil {
		return 0, false, fmt.Errorf("found %s, want a time of the day, such as 07:00, or none", quote(text))
	}
	return at.Hour()*60 + at.Minute(), true, nil
}

func (k Key) checkDuration(text string) error {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return fmt.Errorf("found %s, want a duration such as 500ms, 30s or 2m", quote(text))
	case d < 0:
		return fmt.Errorf("found %s, want a duration that is not negative", quote(text))
	case d < k.Least:
		return fmt.Errorf("found %s, want a duration of at least %s", quote(text), k.Least)
	case k.Most > 0 && d > k.Most:
		return fmt.Errorf("found %s, want a duration of at most %s", quote(text), k.Most)
	}
	return nil
}

// orList joins words to a text such as "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// quote returns a value in quotes for an error message. It shortens the value to 80 bytes, because
// it may be as long as a whole file.
func quote(text string) string {
	const most = 80
	if len(text) <= most {
		return strconv.Quote(text)
	}
	return strconv.Quote(truncate.Head(text, most)) + "…"
}
