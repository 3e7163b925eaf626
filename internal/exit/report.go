package exit

import (
	"encoding/json"
	"errors"
	"io"
)

// Text returns the message to print for err, with its hint, if err has a hint. The message may
// contain text from other programs, so the caller must make it printable.
func Text(err error) string {
	text := "gaffer: " + err.Error()
	if hint := Hint(err); hint != "" {
		text += "\nhint: " + hint
	}
	return text
}

// ReportJSON writes err as one JSON object on one line.
func ReportJSON(w io.Writer, err error) {
	type body struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Hint    string `json:"hint,omitempty"`
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	// Ignore an error: if the error report cannot be written, nothing else can be reported either.
	_ = enc.Encode(map[string]body{"error": {Of(err).String(), err.Error(), Hint(err)}})
}

// Hint returns the first hint in the chain of err that is not empty. The search starts at the
// outermost error. If there is no hint, Hint returns "".
func Hint(err error) string {
	for err != nil {
		h, ok := errors.AsType[interface {
			error
			Hint() string
		}](err)
		if !ok {
			return ""
		}
		if text := h.Hint(); text != "" {
			return text
		}
		err = errors.Unwrap(h)
	}
	return ""
}
