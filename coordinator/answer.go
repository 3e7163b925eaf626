package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
)

// ask sends a request, and decodes and returns one member of the JSON object in the answer. It
// returns an error if the answer lacks the member.
func ask[T any](ctx context.Context, c *connection, q call, member string) (T, error) {
	var value T
	body, err := c.do(ctx, q)
	if err != nil {
		return value, err
	}
	if err := members(body).pick(member, &value); err != nil {
		return value, fmt.Errorf("%s: %w", q, err)
	}
	return value, nil
}

// answer maps the name of each member of an answer to its JSON value. It is nil if the answer is
// not a JSON object.
type answer map[string]json.RawMessage

func members(body []byte) answer {
	var a answer
	if json.Unmarshal(body, &a) != nil {
		return nil
	}
	return a
}

// pick decodes one member into dst. If dst points to a slice, pick accepts null, because some
// programs encode an empty list as null.
func (a answer) pick(member string, dst any) error {
	raw, ok := a[member]
	list := reflect.TypeOf(dst).Elem().Kind() == reflect.Slice
	switch {
	case a == nil:
		return badAnswer("the answer is not a JSON object")
	case !ok, !list && string(raw) == "null":
		return badAnswer("the answer has no " + member)
	}
	if err := json.Unmarshal(raw, dst); err != nil {
		return badAnswer(member + " of the answer: " + printable(err.Error()))
	}
	return nil
}

func badAnswer(why string) *Error {
	return &Error{Code: BadAnswer, Message: why, Status: http.StatusOK}
}

// askAll sends a request and decodes the whole answer. It returns an error if the answer lacks the
// required member.
func askAll[T any](ctx context.Context, c *connection, q call, required string) (T, error) {
	var value T
	body, err := c.do(ctx, q)
	if err != nil {
		return value, err
	}
	var there json.RawMessage
	if err := members(body).pick(required, &there); err != nil {
		return value, fmt.Errorf("%s: %w", q, err)
	}
	if err := json.Unmarshal(body, &value); err != nil {
		return value, fmt.Errorf("%s: %w", q, badAnswer("the answer: "+printable(err.Error())))
	}
	return value, nil
}
