package plan

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// Limits of a plan's YAML. The parser recurses for each level, takes time quadratic
// in the number of keys of a mapping, and has no limits of its own. So the tokens are
// counted before they are parsed.
const (
	maxDepth   = 100
	maxTokens  = 1_000_000
	maxKeyCost = 80_000_000 // the sum of n²/2 over mappings of n keys: one of 12,000, or any number of small ones
)

// guard scans the tokens of a file once and finds the first that exceeds a limit, or
// that plans do not allow.
type guard struct {
	brackets, run int
	mappings      []openMapping // open block mappings, outermost first
	cost          int
	content       bool // there was content before this token
}

type openMapping struct{ column, keys int }

// check returns the offending token and the problem.
func (g *guard) check(tokens token.Tokens) (*token.Token, string) {
	if len(tokens) > maxTokens {
		return nil, fmt.Sprintf("found more than %d words and marks, which is too much for one plan", maxTokens)
	}
	for _, tk := range tokens {
		if problem := g.token(tk); problem != "" {
			return tk, problem
		}
	}
	return nil, ""
}

func (g *guard) token(tk *token.Token) string {
	g.levels(tk)
	switch tk.Type {
	case token.DocumentHeaderType:
		if g.content {
			return "found a second YAML document, want one"
		}
		return ""
	case token.TagType:
		return fmt.Sprintf("found the tag %.40q, which plans do without", tk.Value)
	case token.MappingKeyType:
		return "found a key that begins with '?', want a plain key"
	case token.DirectiveType, token.CommentType:
		return ""
	case token.SequenceEntryType:
		g.close(column(tk) + 1)
	case token.MappingValueType:
		g.key(tk)
	}
	g.content = true
	if g.brackets > maxDepth || g.run > maxDepth || len(g.mappings) > maxDepth {
		return fmt.Sprintf("found more than %d levels of nesting", maxDepth)
	}
	if g.cost > maxKeyCost {
		return "found too many keys in one mapping"
	}
	return ""
}

// levels counts tokens that add a level of nesting with one character.
func (g *guard) levels(tk *token.Token) {
	switch tk.Type {
	case token.SequenceStartType, token.MappingStartType:
		g.brackets++
	case token.SequenceEndType, token.MappingEndType:
		g.brackets--
	case token.SequenceEntryType, token.AnchorType:
		g.run++
	default:
		g.run = 0
	}
}

// key counts the key before a colon in its block mapping.
func (g *guard) key(colon *token.Token) {
	if g.brackets > 0 || colon.Prev == nil {
		return
	}
	at := column(colon.Prev)
	g.close(at + 1)
	if n := len(g.mappings); n == 0 || g.mappings[n-1].column < at {
		g.mappings = append(g.mappings, openMapping{column: at})
	}
	last := &g.mappings[len(g.mappings)-1]
	last.keys++
	g.cost += last.keys
}

// close ends the mappings that begin at the column or to its right.
func (g *guard) close(column int) {
	n := len(g.mappings)
	for n > 0 && g.mappings[n-1].column >= column {
		n--
	}
	g.mappings = g.mappings[:n]
}

func column(tk *token.Token) int {
	if tk.Position == nil {
		return 0
	}
	return tk.Position.Column
}
