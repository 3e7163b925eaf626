package exit

import (
	"encoding/json"
	"errors"
	"io"
)

// Text is err for a person, with the next step when the error knows one. It may
// have in it what others wrote, and is not safe to show as it is.
func Text(err error) string {
	text := "gaffer: " + err.Error()
	if hint := Hint(err); hint != "" {
		text += "\nhint: " + hint
	}
	return text
}

// ReportJSON shows err to a program, as one JSON object on one line.
func ReportJSON(w io.Writer, err error) {
	type body struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Hint    string `json:"hint,omitempty"`
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	// Nothing is left to tell when stderr itself is broken.
	_ = enc.Encode(map[string]body{"error": {Of(err).String(), err.Error(), Hint(err)}})
}

// Hint is what to do next: the outermost hint in the chain that is not empty.
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
