package yamldoc

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// Limits of a YAML file. The parser has no limits: it recurses for each level of nesting, and the
// time for a mapping grows with the square of its number of keys. So gaffer checks the tokens
// before the parser gets them.
const (
	maxDepth  = 100
	maxTokens = 1_000_000
	// maxKeyCost is the maximum sum of n²/2 over all block mappings of a file (mappings that are
	// not in braces), where n is the number of keys of a mapping. It allows, for example, one
	// mapping with 12,000 keys.
	maxKeyCost = 80_000_000
)

// checkLimits returns an error for the first token that exceeds a limit or begins a second
// document.
func checkLimits(tokens token.Tokens) error {
	if len(tokens) > maxTokens {
		return errorAt(nil, "found more than %d words and marks, which is too much for one file", maxTokens)
	}
	var c counter
	for _, tk := range tokens {
		if problem := c.add(tk); problem != "" {
			return errorAt(tk, "%s", problem)
		}
	}
	return nil
}

// counter counts the levels of nesting and the keys in a sequence of tokens.
type counter struct {
	brackets int           // number of open brackets
	run      int           // number of consecutive tokens that each add a level, such as "- - -"
	mappings []openMapping // open block mappings, the outermost first
	cost     int           // cost of the keys so far; see maxKeyCost
	// content says whether the document has begun: the method add has counted a token that is not a
	// comment, a directive or "---".
	content bool
}

type openMapping struct{ column, keys int }

// add counts a token. It returns a description of the problem if the token exceeds a limit or
// begins a second document, and "" otherwise.
func (c *counter) add(tk *token.Token) string {
	c.levels(tk)
	switch tk.Type {
	case token.DocumentHeaderType:
		if c.content {
			return "found a second YAML document, want one"
		}
		return ""
	case token.DirectiveType, token.CommentType:
		return ""
	case token.SequenceEntryType:
		c.close(column(tk) + 1)
	case token.MappingValueType:
		c.key(tk)
	}
	c.content = true
	if c.brackets > maxDepth || c.run > maxDepth || len(c.mappings) > maxDepth {
		return fmt.Sprintf("found more than %d levels of nesting", maxDepth)
	}
	if c.cost > maxKeyCost {
		return "found too many keys in one mapping"
	}
	return ""
}

// levels counts open brackets, and consecutive tokens that each add a level of nesting.
// [counter.key] counts the levels that come from indentation.
func (c *counter) levels(tk *token.Token) {
	switch tk.Type {
	case token.SequenceStartType, token.MappingStartType:
		c.brackets++
	case token.SequenceEndType, token.MappingEndType:
		c.brackets--
	case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
		c.run++
	default:
		c.run = 0
	}
}

// key counts a key, if it belongs to a block mapping and not to a mapping in braces. colon is the
// colon after the key.
func (c *counter) key(colon *token.Token) {
	if c.brackets > 0 || colon.Prev == nil {
		return
	}
	at := column(colon.Prev)
	c.close(at + 1)
	if n := len(c.mappings); n == 0 || c.mappings[n-1].column < at {
		c.mappings = append(c.mappings, openMapping{column: at})
	}
	last := &c.mappings[len(c.mappings)-1]
	last.keys++
	c.cost += last.keys
}

// close removes from c.mappings the mappings that start at this column or to the right of it,
// because they have ended.
func (c *counter) close(column int) {
	n := len(c.mappings)
	for n > 0 && c.mappings[n-1].column >= column {
		n--
	}
	c.mappings = c.mappings[:n]
}

func column(tk *token.Token) int {
	_, column := Position(tk)
	return column
}
