package team

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/lazyregexp"
)

// verdict is a part of an agent's answer that states a status: a JSON object or a status line.
type verdict struct {
	Answer
	problem string // why the verdict cannot be read; empty if it can be read
	// end is the offset in the answer of the first byte after the verdict. The verdict in a line
	// such as "Status: PASS, all tests ran" ends after the status word.
	end int
}

// maxRepairs is how many invalid JSON values in an agent's answer are parsed again without their
// trailing commas. The limit ensures that the time is linear in the length of the answer.
const maxRepairs = 20

// verdictsIn lists the verdicts in an agent's answer, in order. A verdict must begin a line. An
// object inside another JSON value does not count, because its status is about something else.
// After a value that is not valid JSON, a verdict that is indented more than this value does not
// count either, because it belongs to a code excerpt or to the invalid value.
func verdictsIn(text string) []verdict {
	const everywhere = math.MaxInt
	var found []verdict
	var in fence
	quoted := false // true if the previous line announces an example, so that the next verdict does not count
	repairs := 0
	for pos, deepest := 0, everywhere; pos < len(text); {
		end := lineEnd(text, pos)
		line := strings.TrimLeft(text[pos:end], " \t")
		start := end - len(line)
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "":
			pos = end
			continue
		case in.take(line):
			pos = end
			continue
		case line[0] != '{' && line[0] != '[' || start-pos > deepest:
			if v, is := statusLine(line); is && !in.open() && !quoted && start-pos <= deepest {
				v.end += start
				found = append(found, v)
			}
			if start-pos <= deepest {
				deepest = everywhere
			}
			quoted = example().MatchString(line)
			pos = end
			continue
		}
		value, next, whole := valueAt(text[start:], &repairs)
		v, is := objectVerdict(value, whole)
		if is && !quoted && !in.isOtherLanguage() {
			v.end = start + len(value)
			found = append(found, v)
		}
		quoted = false
		if whole {
			deepest, pos = everywhere, lineEnd(text, start+len(value))
			continue
		}
		deepest, pos = start-pos, max(end, start+next)
	}
	return found
}

func lineEnd(text string, from int) int {
	if i := strings.IndexByte(text[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(text)
}

// fence is the Markdown code fence that encloses the current line. The field marks is its opening
// backticks or tildes, or empty if there is no fence. The field info is the language after them,
// such as json.
type fence struct{ marks, info string }

var fenceLine = lazyregexp.New("^(`{3,}|~{3,})\\s*([^`]*)$")

// take updates f if line opens or closes a fence. It reports whether line did so.
func (f *fence) take(line string) bool {
	m := fenceLine().FindStringSubmatch(line)
	switch {
	case m == nil:
		return false
	case !f.open():
		*f = fence{m[1], strings.ToLower(strings.TrimSpace(m[2]))}
		return true
	case m[2] == "" && strings.HasPrefix(m[1], f.marks):
		*f = fence{}
		return true
	}
	return false
}

func (f fence) open() bool { return f.marks != "" }

// isOtherLanguage reports whether the fence is marked with a language other than JSON or
// JavaScript. A JSON object in such a fence is quoted code, not a verdict.
func (f fence) isOtherLanguage() bool {
	return !slices.Contains([]string{"", "json", "jsonc", "json5", "js", "javascript"}, f.info)
}

// example matches a line that announces an example, such as "For example:".
var example = lazyregexp.New("(?i)\\b(?:examples?|e\\.g\\.|for instance)\\b.*:[\\s*_`]*$")

// valueAt finds the JSON object or list at the start of text. If a trailing comma makes it invalid,
// valueAt replaces such commas by spaces. *repairs counts the attempts to do so, of which there are
// at most maxRepairs. There are three cases:
//
//   - The object or list is valid. Then next is the offset after it in text.
//   - It has a syntax error. Then valid is false, value ends with the line of the error, and next
//     is the start of that line.
//   - It is incomplete. Then valid is false, value is all of text, and next is the end of text.
func valueAt(text string, repairs *int) (value string, next int, valid bool) {
	end, wrong := valueEnd(text)
	if wrong >= 0 && *repairs < maxRepairs && (text[wrong] == '}' || text[wrong] == ']') {
		*repairs++
		if mended := withoutTrailingCommas(text); mended != "" {
			if end, wrong := valueEnd(mended); wrong < 0 && end > 0 {
				return mended[:end], end, true
			}
		}
	}
	switch {
	case wrong >= 0:
		return text[:lineEnd(text, wrong)], strings.LastIndexByte(text[:wrong], '\n') + 1, false
	case end == 0: // the value is incomplete: text ends before its closing bracket
		return text, len(text), false
	}
	return text[:end], end, true
}

// valueEnd returns the length of the JSON value at the start of text, and -1. If the value has a
// syntax error, valueEnd returns 0 and the offset of the error. If the value is incomplete,
// valueEnd returns 0 and -1.
func valueEnd(text string) (end, errorAt int) {
	var value json.RawMessage
	in := json.NewDecoder(strings.NewReader(text))
	err := in.Decode(&value)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return 0, int(syntax.Offset) - 1
	}
	if err != nil {
		return 0, -1
	}
	return int(in.InputOffset()), -1
}

// withoutTrailingCommas returns the JSON value at the start of text. Each trailing comma in it is
// replaced by a space, so that the length of the value stays the same. The result is "" if the
// brackets do not match.
func withoutTrailingCommas(text string) string {
	out := []byte(text[:0])
	depth, comma, inString := 0, -1, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		out = append(out, c)
		switch {
		case inString && c == '\\' && i+1 < len(text):
			i++
			out = append(out, text[i])
		case c == '"':
			inString, comma = !inString, -1
		case inString || strings.IndexByte(" \t\r\n", c) >= 0:
		case c == ',':
			comma = i
		case c == '{' || c == '[':
			depth, comma = depth+1, -1
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			if depth, comma = depth-1, -1; depth == 0 {
				return string(out)
			}
		default:
			comma = -1
		}
	}
	return ""
}

// statusKey matches the name of a status member, such as "status":, in text that is not valid JSON.
var statusKey = lazyregexp.New(`(?i)["']?\bstatus["']?\s*:`)

// objectVerdict returns the verdict in the parameter value, the text of a JSON object or list. The
// parameter valid says whether this text is valid JSON. The result found is false if value is a
// list, an object without a status, or an object whose status is a choice of words, such as PASS |
// FAIL.
func objectVerdict(value string, valid bool) (v verdict, found bool) {
	unread := verdict{problem: "its object with a status is not valid JSON"}
	switch {
	case value[0] != '{':
		return v, false
	case !valid:
		return unread, statusKey().MatchString(value)
	}
	doc, err := jsontree.Parse([]byte(value))
	if err != nil {
		return unread, statusKey().MatchString(value)
	}
	v.Body = doc.Value()
	for name, member := range v.Body.Members() {
		if !strings.EqualFold(name, "status") {
			continue
		}
		text, isText := member.Str()
		word, _, how := readWord(text)
		switch {
		case !isText || how != clearWord && how != template:
			v.problem = fmt.Sprintf("its status is %.60s", member.Raw())
		case how == template: // a choice of words, such as PASS | FAIL
			return verdict{}, false
		case found && word != v.Status:
			v.problem = fmt.Sprintf("its object has the statuses %s and %s", v.Status, word)
		}
		v.Status, found = word, true
	}
	for _, name := range []string{"verdict", "decision", "result"} {
		if word, _, how := readWord(v.Body.Get(name).Text()); found && how == clearWord && word.opposes(v.Status) && v.Status.advances() {
			v.problem = fmt.Sprintf("its status is %s and its %s is %s", v.Status, name, word)
		}
	}
	summary := v.Body.Get("summary")
	if line, ok := summary.Str(); ok {
		v.Summary = []string{line}
	}
	for _, item := range summary.Items() {
		v.Summary = append(v.Summary, item.String())
	}
	return v, found
}

// Patterns for the start of a status line: list and heading markers, then a label such as "Status"
// and its delimiter.
var (
	lineMarks = lazyregexp.New(`^(?:#{1,6}\s+|[-+•]\s+|\*\s+|\d{1,3}[.)]\s+)+`)
	label     = lazyregexp.New("(?i)^(?:(?:final|overall|updated|revised|corrected|new|my|qa|test|tech lead|review)\\s+)*" +
		"(status|verdict|decision|result|outcome|review)[\\s*_`]*(?:[:=–—→]|->|\\s-\\s)")
)

// statusLine reads the verdict in a status line such as "Status: PASS" or "✅ APPROVED". A line with
// the label "status" or "verdict" is a status line even if its status word cannot be read. But a
// line that offers a choice of words, such as "Status: PASS | FAIL", is none. Other labels, and
// signs such as ✅, also occur in ordinary text. So after them, only a status word of the protocol
// makes a status line.
func statusLine(line string) (v verdict, ok bool) {
	text := line[len(lineMarks().FindString(line)):]
	bare, _ := withoutDecoration(text)
	m := label().FindStringSubmatchIndex(bare)
	if m == nil {
		word, rest, how := readWord(text)
		signed := strings.ContainsFunc(text[:len(text)-len(bare)], isSign)
		if signed && how == clearWord && word.known() && strings.Trim(rest, "*_`.! ") == "" {
			return verdict{Answer: Answer{Status: word}, end: len(line)}, true
		}
		return v, false
	}
	word, rest, how := readWord(bare[m[1]:])
	name := strings.ToLower(bare[m[2]:m[3]])
	sure := name == "status" || name == "verdict"
	switch {
	case how == template || !sure && (how == noWord || !word.known()):
		return v, false
	case how != clearWord:
		return verdict{problem: fmt.Sprintf("its line %.80q", line), end: len(line)}, true
	}
	v = verdict{Answer: Answer{Status: word}, end: len(line) - len(rest)}
	if rest = strings.Trim(rest, " \t*_`,;:.–—-"); rest != "" {
		v.Summary = []string{rest}
	}
	return v, true
}

// clarity says how clearly a text states a status word.
type clarity int

const (
	noWord    clarity = iota // the text does not begin with a word that can be a status
	template                 // the text offers several words to choose from, such as PASS | FAIL
	vagueWord                // the text around the word may change its meaning, as in "PASS unless CI fails"
	clearWord
)

var (
	wordForm  = lazyregexp.New(`^[A-Z][A-Z_]*$`)
	wordStart = lazyregexp.New(`^[A-Za-z][A-Za-z_]*`)
	choices   = lazyregexp.New("(?i)^[*_`\"']*\\s*(?:[|/]|or\\s)")
	ending    = lazyregexp.New("^[*_`\"')\\]\\s]*(?:$|[,.;:!(…–—|]|-[-\\s])")
	proviso   = lazyregexp.New(`(?i)\b(?:but|except|unless|once|until|if|pending|provided|conditional(?:ly)?|however|not|never|after|mostly|almost|part(?:ly|ially))\b|n't\b|\?`)

	// knownWords matches a status word of the protocol at the start of a text. If several words
	// match, it takes the longest. The word may be in upper or lower case, and have spaces or
	// hyphens instead of underscores.
	knownWords = sync.OnceValue(func() *regexp.Regexp { return anyWord(`^`) })
	// namedWords matches a status word of the protocol at any place in a text, in the same
	// spellings as knownWords.
	namedWords = sync.OnceValue(func() *regexp.Regexp { return anyWord(`(?:^|[^a-z0-9])`) })
)

func anyWord(before string) *regexp.Regexp {
	var list []string
	for w := range meanings() {
		list = append(list, strings.ReplaceAll(string(w), "_", "[ _-]"))
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return regexp.MustCompile(`(?i)` + before + `(` + strings.Join(list, "|") + `)`)
}

// readWord reads the status word at the start of text. It also returns the text after the word, and
// how clear the word is. When a word is clear depends on its kind:
//
//   - A word of the protocol that lets work advance, such as PASS, is clear if punctuation or the
//     end of the text follows it, no sign of refusal such as ❌ is before it, and no restriction
//     such as "unless" is after it.
//   - Any other word of the protocol is clear if it is in capitals, or if punctuation or the end of
//     the text follows it.
//   - A word that is not in the protocol is clear if it is in capitals, or if it is the only word.
//   - No word is clear if it begins a choice of words, such as PASS | FAIL.
func readWord(text string) (w Word, rest string, how clarity) {
	text, refused := withoutDecoration(text)
	if found := knownWords().FindString(text); found != "" && !continuesWord(text[len(found):]) {
		w, rest = canonicalWord(found), text[len(found):]
		switch {
		case choices().MatchString(rest):
			return w, rest, template
		case (w.advances() || strings.ToUpper(found) != found) && !ending().MatchString(rest),
			w.advances() && (refused || proviso().MatchString(rest)):
			return w, rest, vagueWord
		}
		return w, rest, clearWord
	}
	found := wordStart().FindString(text)
	rest = text[len(found):]
	switch {
	case found == "" || continuesWord(rest):
		return "", text, noWord
	case choices().MatchString(rest):
		return "", text, template
	case wordForm().MatchString(found) || strings.Trim(rest, "*_`\"')]. \t") == "":
		return canonicalWord(found), rest, clearWord
	}
	return "", text, noWord
}

// continuesWord reports whether text, which follows a status word, begins with a part of the same
// word, such as "-like" after PASS.
func continuesWord(text string) bool {
	r, size := utf8.DecodeRuneInString(text)
	next, _ := utf8.DecodeRuneInString(text[size:])
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' && unicode.IsLetter(next) || r == '-' && unicode.IsLetter(next)
}

// withoutDecoration removes emphasis, quotes, and signs such as ✅ from the start of text. refused
// reports whether one of the removed signs means a refusal, such as ❌.
func withoutDecoration(text string) (bare string, refused bool) {
	bare = strings.TrimLeftFunc(text, func(r rune) bool { return strings.ContainsRune(" \t*_`\"'([", r) || isSign(r) })
	return bare, strings.ContainsAny(text[:len(text)-len(bare)], "❌❎✖✗✘🚫⛔🛑🔴👎⚠")
}

func isSign(r rune) bool { return unicode.In(r, unicode.So, unicode.Mn, unicode.Cf) }

func canonicalWord(text string) Word {
	w := Word(strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return '_'
		}
		return unicode.ToUpper(r)
	}, text))
	if meant, ok := meanings()[w]; ok {
		return meant
	}
	return w
}

// meanings maps each status word that agents use to the protocol's word. Most words are mapped to
// themselves.
var meanings = sync.OnceValue(func() map[Word]Word {
	m := map[Word]Word{"BAZINGA": WordComplete, "ESCALATE_SENIOR": WordEscalate, "ESCALATE_TO_OPUS": WordEscalate}
	for _, r := range routes {
		m[r.word] = r.word
	}
	return m
})

func (w Word) known() bool { return meanings()[w] == w && w != "" }

// advances reports whether a word lets work continue to the next stage. gaffer accepts an agent's
// answer with one of these words only if it is unambiguous.
func (w Word) advances() bool {
	switch w {
	case WordReadyForQA, WordReadyForReview, WordPass, WordApproved, WordApprovedWithNotes, WordComplete:
		return true
	}
	return false
}

// opposes reports whether w and other contradict each other: they are different words that the same
// role may use, and not both approvals.
func (w Word) opposes(other Word) bool {
	if w == other || w.approves() && other.approves() {
		return false
	}
	for _, r := range routes {
		if words := Words(r.by); r.word == other && slices.Contains(words, w) {
			return true
		}
	}
	return false
}

func (w Word) approves() bool { return w == WordApproved || w == WordApprovedWithNotes }

// retraction matches text that takes back an earlier verdict. noFailures matches text such as
// "0 FAIL", which names the word FAIL but reports no failure.
var (
	noFailures = lazyregexp.New(`\b0\s+FAIL\b|\bFAIL\s*[:=]?\s*0\b`)
	retraction = lazyregexp.New(`(?im)^\W*(?:no,?\s+)?wait\b[\s,.!:…–—-]|\bon second thoughts?\b|\bscratch that\b|\btake (?:that|this|it) back\b|` +
		`\bi (?:retract|withdraw)\b|\b(?:disregard|ignore) (?:that|this|the above|my)\b|\bchanged my mind\b|` +
		`\b(?:do not|don't|must not be|should not be) merged?\b|\b(?:not|cannot|can't|don't) (?:be )?approved?\b|"status"`)
)

// contradictionAfter looks in text, which follows a verdict with the word w, for a part that
// contradicts the verdict. It returns that part, or "" if there is none.
func contradictionAfter(text string, w Word) string {
	text = noFailures().ReplaceAllString(text, "")
	if said := retraction().FindString(text); said != "" {
		return strings.TrimSpace(said)
	}
	for _, at := range namedWords().FindAllStringSubmatchIndex(text, -1) {
		found := text[at[2]:at[3]]
		said := canonicalWord(found)
		loud := strings.ToUpper(found) == found || strings.ContainsRune(string(said), '_')
		if loud && !continuesWord(text[at[1]:]) && said.opposes(w) && !said.advances() {
			return found
		}
	}
	return ""
}
