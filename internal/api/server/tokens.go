package server

import (
	"context"
	"time"

	"gaffer/internal/api/credential"
)

// tokenShown is an access token as responses show it: without the stored hash. Secret, the text of
// the token, is only set in the response to the request that creates the token.
type tokenShown struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Role credential.Role `json:"role"`
	credential.Limits
	Secret  string    `json:"secret,omitempty"`
	Created time.Time `json:"created_at"`
	Expires time.Time `json:"expires_at,omitzero"`
	Used    time.Time `json:"used_at,omitzero"`
}

type newToken struct {
	Name string          `json:"name"`
	Role credential.Role `json:"role"`
	credential.Limits
}

type (
	oneToken struct {
		Token tokenShown `json:"token"`
	}
	allTokens struct {
		Tokens []tokenShown `json:"tokens"`
	}
)

// tokenHandlers lists, creates and revokes tokens.
type tokenHandlers struct{ tokens *credential.TokenStore }

func shownToken(r credential.Token) tokenShown {
	role, limits := r.Shown()
	return tokenShown{ID: r.ID, Name: r.Name, Role: role, Limits: limits, Created: r.Created, Expires: r.Expires, Used: r.Used}
}

func (h *tokenHandlers) listTokens(c *request) error {
	return respond(c, func(ctx context.Context) (allTokens, error) {
		rows, err := h.tokens.List(ctx)
		all := allTokens{[]tokenShown{}}
		for _, r := range rows {
			all.Tokens = append(all.Tokens, shownToken(r))
		}
		return all, err
	})
}

func (h *tokenHandlers) addToken(c *request) error {
	var ask newToken
	if err := c.decode(&ask); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneToken, error) {
		text, row, err := h.tokens.Create(ctx, credential.TokenSpec{Role: ask.Role, Name: ask.Name, Limits: ask.Limits})
		c.about = "token " + row.ID
		shown := shownToken(row)
		shown.Secret = text
		return oneToken{shown}, err
	})
}

func (h *tokenHandlers) revokeToken(c *request) error {
	return respondByID(c, func(ctx context.Context, id string) (oneToken, error) {
		row, err := h.tokens.Revoke(ctx, id)
		c.about = "token " + row.ID
		return oneToken{shownToken(row)}, err
	})
}
