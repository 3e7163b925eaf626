package config

import "github.com/goccy/go-yaml/token"

// maxDepth is the maximum nesting of a configuration file. The parser recurses on each
// level. Without a limit, a file of brackets would overflow the stack, which recover
// cannot catch.
const maxDepth = 100

// tooDeep returns the token at which the nesting exceeds maxDepth, or nil. It counts
// the levels that take only a few characters: brackets, and consecutive dashes,
// question marks, anchors or tags. Levels of indentation need longer and longer lines,
// so the size of the file limits them.
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
