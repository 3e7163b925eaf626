package secret

import (
	"strings"

	"gaffer/statefile/lazyregexp"
)

// secretName matches the names of variables that usually contain a secret, for example
// GITHUB_TOKEN.
var secretName = lazyregexp.New(`(?i)(^|_)(PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)(_|$)|(^|_)[A-Z0-9]*(PASSWORD|APIKEY|TOKEN|SECRET)$`)

// secretText matches texts that look like a secret: keys and tokens of well-known services, private
// keys, and URLs that contain a password.
var secretText = lazyregexp.New(`^(sk-[\w-]{16,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|gft_[\w-]{16,}|eyJ[\w-]{10,}\.[\w-]{10,}\..*)$|^-----BEGIN [A-Z ]*PRIVATE KEY|^[a-z][a-z0-9+.-]*://[^/@:\s]+:[^/@\s]+@`)

// plainText matches texts that are never a secret, whatever the variable's name is: a number, a
// boolean, the path of a file, or an empty text.
var plainText = lazyregexp.New(`^([0-9.]*|(?i:true|false|yes|no|on|off|none)|[~.]?/.*)$`)

// LooksSecret reports whether v, the value of the variable with the given name, looks like a
// secret, because of the name or because of the text of v. A reference never looks like a secret.
func LooksSecret(name string, v Value) bool {
	if v.IsReference() {
		return false
	}
	text := strings.TrimSpace(v.Text)
	return secretText().MatchString(text) || secretName().MatchString(name) && !plainText().MatchString(text)
}
