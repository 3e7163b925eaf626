package yamldoc

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// Limits of a file. The parser recurses for each level of nesting, needs quadratic time
// for the keys of a mapping, and checks no limits. So the tokens are counted before
// they are parsed.
const (
	maxDepth   = 100
	maxTokens  = 1_000_000
	maxKeyCost = 80_000_000 // limits the sum of n²/2 over all mappings of n keys, for example one mapping of 12,000 keys
)

// checkLimits returns an error for the first token that exceeds a limit.
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

// counter counts the nesting and the keys in a sequence of tokens.
type counter struct {
	brackets int           // open brackets
	run      int           // consecutive tokens that each add a level, such as "- - -"
	mappings []openMapping // open block mappings, outermost first
	cost     int           // see maxKeyCost
	content  bool          // the file has content before this token
}

type openMapping struct{ column, keys int }

// add counts a token and returns what is wrong with it, or "".
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

// levels counts levels of nesting that a single character adds, such as a bracket.
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

// key counts the key before a colon in its block mapping.
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

// close ends the mappings that begin at the column or to its right.
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
