package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

// The maximum lengths, in characters, of two texts in records: the beginning of the prompt and the
// end of the agent's output.
const (
	excerptLength = 200
	summaryLength = 500
)

// Excerpt returns the first 200 characters of a prompt, or the whole prompt if it is shorter.
func Excerpt(prompt string) string {
	count := 0
	for at := range prompt {
		if count++; count > excerptLength {
			return prompt[:at]
		}
	}
	return prompt
}

// Hash returns the SHA-256 of a full prompt in hexadecimal.
func Hash(prompt string) string {
	sum := sha256.Sum256([]byte(prompt))
	return hex.EncodeToString(sum[:])
}

// Summary returns the last 500 characters of an agent's output, or the whole output if it is
// shorter.
func Summary(output string) string {
	at := len(output)
	for range summaryLength {
		if at == 0 {
			return output
		}
		_, size := utf8.DecodeLastRuneInString(output[:at])
		at -= size
	}
	return output[at:]
}
