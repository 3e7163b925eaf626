package config

import "github.com/goccy/go-yaml/token"

// maxDepth is far more than any setting needs. The parser recurses for each
// level, and a file of brackets alone would exhaust the stack, which no
// recover can catch.
const maxDepth = 100

// tooDeep gives the token at which nesting passes maxDepth, or nil. It counts
// the levels that cost one character each: brackets, and dashes or question
// marks that follow one another. Levels made of indentation cost a longer line
// each and are bounded by the size of the file.
func tooDeep(tokens token.Tokens) *token.Token {
	brackets, run := 0, 0
	for _, tk := range tokens {
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			run++
		default:
			run = 0
		}
		if brackets > maxDepth || run > maxDepth {
			return tk
		}
	}
	return nil
}
