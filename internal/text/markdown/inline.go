package markdown

import "strings"

// plain returns a text without its Markdown markup and without styles.
func plain(text string) string { return (&formatter{}).inline(text) }

// inline formats the links, the code, and the bold and italic words in a text. It paints code and
// bold text. It only removes the stars of italic text. It paints each word separately, so that the
// text can be wrapped afterwards.
func (f *formatter) inline(text string) string {
	var b strings.Builder
	strong, italic := false, false
	write := func(part string, code bool) {
		if strong || code {
			part = f.paintWords(part)
		}
		b.WriteString(part)
	}
	for text != "" {
		switch c := text[0]; {
		case c == '\\' && len(text) > 1 && strings.IndexByte("\\`*_{}[]()#+-.!|<>", text[1]) >= 0:
			write(text[1:2], false)
			text = text[2:]
		case c == '`':
			fence := text[:len(text)-len(strings.TrimLeft(text, "`"))]
			body, after, ok := strings.Cut(text[len(fence):], fence)
			if !ok {
				write(fence, false)
				text = text[len(fence):]
				break
			}
			if len(fence) > 1 {
				body = strings.TrimSuffix(strings.TrimPrefix(body, " "), " ") // remove the spaces that separate the code from the backticks around it
			}
			write(body, true)
			text = after
		case strings.HasPrefix(text, "!["), c == '[':
			label, target, after, ok := link(strings.TrimPrefix(text, "!"))
			if !ok {
				write(text[:1], false)
				text = text[1:]
				break
			}
			write(f.inline(label), false)
			if strings.HasPrefix(target, "https://") || strings.HasPrefix(target, "http://") {
				write(" ("+target+")", false)
			}
			text = after
		case strings.HasPrefix(text, "**"):
			if strong || strings.Contains(text[2:], "**") {
				strong = !strong
			} else {
				write(text[:2], false)
			}
			text = text[2:]
		case c == '*' && (italic && endsEmphasis(text) || !italic && beginsEmphasis(text, b.String())):
			italic = !italic
			text = text[1:]
		default:
			n := strings.IndexAny(text[1:], "\\`[!*") + 1
			if n == 0 {
				n = len(text)
			}
			write(text[:n], false)
			text = text[n:]
		}
	}
	return b.String()
}

// beginsEmphasis reports whether the * at the start of text begins italic text. It does if it is at
// the start of a word and another * is at the end of a word. Any other * is a literal star, as in
// "go test:*". before is the text that comes before the star.
func beginsEmphasis(text, before string) bool {
	if before != "" && !strings.ContainsAny(before[len(before)-1:], " \n([") || len(text) < 2 || strings.ContainsAny(text[1:2], " \n*") {
		return false
	}
	for i := 2; i < len(text); i++ {
		if text[i] == '*' && endsEmphasis(text[i:]) && text[i-1] != ' ' {
			return true
		}
	}
	return false
}

// endsEmphasis reports whether the * at the start of text is at the end of a word.
func endsEmphasis(text string) bool {
	return len(text) == 1 || strings.ContainsAny(text[1:2], " \n.,:;!?)]")
}

// link parses the link at the start of a text. It returns the label and the target of the link, and
// the text after the link. Brackets in the label must be in pairs. ok is false if the text does not
// start with a link.
func link(text string) (label, target, after string, ok bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			depth++
		case ']':
			if depth--; depth > 0 {
				continue
			}
			rest, ok := strings.CutPrefix(text[i+1:], "(")
			if !ok {
				return "", "", "", false
			}
			target, after, ok := strings.Cut(rest, ")")
			return text[1:i], target, after, ok
		}
	}
	return "", "", "", false
}

func (f *formatter) paintWords(text string) string {
	if f.style.Code == nil {
		return text
	}
	words := strings.Split(text, " ")
	for i, word := range words {
		if word != "" {
			words[i] = f.style.Code(word)
		}
	}
	return strings.Join(words, " ")
}
