package parts

import (
	"strings"
	"unicode/utf8"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/tui/paint"
)

// Input is the line that the user is typing, for example an answer to a question.
type Input string

// maxInput is the maximum length of an [Input], in bytes.
const maxInput = 2000

// Insert appends text that the user has typed or pasted. If the line would become longer than
// maxInput, Insert ignores the new text.
func (i Input) Insert(text string) Input {
	if text != " " {
		text = display.OneLine(text)
	}
	if len(i)+len(text) > maxInput {
		return i
	}
	return i + Input(text)
}

// Backspace removes the last character.
func (i Input) Backspace() Input {
	_, size := utf8.DecodeLastRuneInString(string(i))
	return i[:len(i)-size]
}

// DeleteWord removes the last word.
func (i Input) DeleteWord() Input {
	line := strings.TrimRight(string(i), " ")
	return Input(line[:strings.LastIndexByte(line, ' ')+1])
}

// Trimmed returns the line without spaces around it.
func (i Input) Trimmed() string { return strings.TrimSpace(string(i)) }

// Row returns a row with a prompt, the line and a cursor. If the line is too long, the row shows
// its last part, where the user types.
func (i Input) Row(prompt string, width int) paint.Line {
	return paint.Line{
		{Text: prompt, Style: display.Bold}, {Text: cells.End(display.Printable(string(i)), width-4)}, {Text: "▏"},
	}
}
