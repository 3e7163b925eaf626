package jsontree

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"
)

// MaxDepth is the maximum nesting depth of a document. Some JSON libraries of other languages fail
// at about this depth.
const MaxDepth = 1000

// SyntaxError says where and why bytes are not JSON.
type SyntaxError struct {
	Offset, Line, Column int // Line and Column start at 1; Column counts bytes
	Problem              string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Problem)
}

func syntaxError(data []byte, at int, problem string) *SyntaxError {
	before := data[:min(at, len(data))]
	return &SyntaxError{
		Offset:  at,
		Line:    bytes.Count(before, []byte{'\n'}) + 1,
		Column:  len(before) - bytes.LastIndexByte(before, '\n'),
		Problem: problem,
	}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// check checks that data is one JSON value and returns an index with the position of
// every value in it. The error is a [*SyntaxError].
func check(data []byte) (*index, error) {
	if len(data) > math.MaxInt32 {
		return nil, &SyntaxError{Line: 1, Column: 1, Problem: "the document is larger than 2 GiB"}
	}
	c := checker{data: data, entries: make([]entry, 0, len(data)/bytesPerEntry+1)}
	if bytes.HasPrefix(data, byteOrderMark) {
		c.at = len(byteOrderMark)
	}
	c.space()
	if c.value(0); c.problem == "" {
		if c.space(); c.at < len(data) {
			c.fail("text after the end of the document")
		}
	}
	if c.problem != "" {
		return nil, syntaxError(data, c.at, c.problem)
	}
	return &index{src: data, entries: c.entries, escaped: c.escaped}, nil
}

// bytesPerEntry is roughly how many bytes of a document belong to one value, with its name and
// white space. It determines the initial capacity of the index.
const bytesPerEntry = 24

// checker parses a document by the JSON grammar. Its methods return false at the first error. Then
// the field problem says what is wrong, and the field at is the position of the wrong byte.
type checker struct {
	data    []byte
	at      int
	problem string
	entries []entry
	escapes int  // number of escapes, such as \n, in all strings so far
	escaped bool // at least one member's name contains an escape
}

func (c *checker) fail(problem string) bool {
	if c.problem == "" {
		c.problem = problem
	}
	return false
}

func (c *checker) unexpected(where string) bool {
	if c.at >= len(c.data) {
		return c.fail("the document ends " + where)
	}
	r, size := utf8.DecodeRune(c.data[c.at:])
	if r == utf8.RuneError && size == 1 {
		return c.fail(fmt.Sprintf("unexpected byte 0x%02x %s", c.data[c.at], where))
	}
	return c.fail(fmt.Sprintf("unexpected %q %s", r, where))
}

func (c *checker) space() { c.at = skipSpace(c.data, c.at) }

func (c *checker) peek() byte {
	if c.at < len(c.data) {
		return c.data[c.at]
	}
	return 0
}

// value checks the value at c.at, which has no name: an item of an array, or the whole document.
func (c *checker) value(depth int) bool { return c.named(depth, c.at, c.at) }

// named checks the value at c.at and adds its entry to the index. key and colon are the start and
// end of the member's name; without a name both are the start of the value.
func (c *checker) named(depth, key, colon int) bool {
	i := len(c.entries)
	c.entries = append(c.entries, entry{key: int32(key), colon: int32(colon), val: int32(c.at)})
	if !c.bare(depth) {
		return false
	}
	c.entries[i].end, c.entries[i].next = int32(c.at), int32(len(c.entries))
	return true
}

func (c *checker) bare(depth int) bool {
	switch b := c.peek(); {
	case b == '{':
		return c.container(depth, '}', c.member)
	case b == '[':
		return c.container(depth, ']', c.value)
	case b == '"':
		return c.str()
	case b == '-' || '0' <= b && b <= '9':
		return c.number()
	case b == 't':
		return c.word("true")
	case b == 'f':
		return c.word("false")
	case b == 'n':
		return c.word("null")
	}
	return c.unexpected("where a value should be")
}

func (c *checker) container(depth int, closing byte, part func(int) bool) bool {
	if depth >= MaxDepth {
		return c.fail(fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	}
	c.at++
	if c.space(); c.peek() == closing {
		c.at++
		return true
	}
	for {
		if c.space(); !part(depth + 1) {
			return false
		}
		c.space()
		switch c.peek() {
		case closing:
			c.at++
			return true
		case ',':
			c.at++
		default:
			return c.unexpected(fmt.Sprintf("where ',' or '%c' should be", closing))
		}
	}
}

func (c *checker) member(depth int) bool {
	if c.peek() != '"' {
		return c.unexpected("where a member's name should be")
	}
	key, escapes := c.at, c.escapes
	if !c.str() {
		return false
	}
	colon := c.at
	c.escaped = c.escaped || c.escapes > escapes
	if c.space(); c.peek() != ':' {
		return c.unexpected("where ':' should be")
	}
	c.at++
	c.space()
	return c.named(depth, key, colon)
}

func (c *checker) word(w string) bool {
	for i := range len(w) {
		if c.peek() != w[i] {
			return c.unexpected("in the word " + w)
		}
		c.at++
	}
	return true
}

func (c *checker) str() bool {
	data, i := c.data, c.at+1
	for {
		i = skipPlain(data, i)
		c.at = i
		switch {
		case i == len(data) || data[i] < ' ':
			return c.unexpected("inside a string")
		case data[i] == '"':
			c.at++
			return true
		case !c.escape():
			return false
		}
		i = c.at
	}
}

// skipPlain skips the plain characters of a string from data[i] on. It returns the index of the
// first quote, backslash or control character, or len(data) if there is none. For speed, it checks
// eight bytes at a time.
func skipPlain(data []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(data); i += 8 {
		x := binary.LittleEndian.Uint64(data[i:])
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		special := (x-ones*' ')&^x | (quote-ones)&^quote | (slash-ones)&^slash
		if special &= highs; special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for i < len(data) && data[i] >= ' ' && data[i] != '"' && data[i] != '\\' {
		i++
	}
	return i
}

func (c *checker) escape() bool {
	c.escapes++
	c.at++
	switch c.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.at++
		return true
	case 'u':
		c.at++
		for range 4 {
			if !isHex(c.peek()) {
				return c.unexpected("in a \\u escape")
			}
			c.at++
		}
		return true
	}
	return c.unexpected("after a backslash")
}

func (c *checker) number() bool {
	if c.peek() == '-' {
		c.at++
	}
	if c.peek() == '0' {
		c.at++
	} else if !c.digits() {
		return false
	}
	if c.peek() == '.' {
		c.at++
		if !c.digits() {
			return false
		}
	}
	if b := c.peek(); b == 'e' || b == 'E' {
		c.at++
		if b := c.peek(); b == '+' || b == '-' {
			c.at++
		}
		return c.digits()
	}
	return true
}

func (c *checker) digits() bool {
	from := c.at
	for isDigit(c.peek()) {
		c.at++
	}
	return c.at > from || c.unexpected("in a number")
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isHex(b byte) bool {
	return isDigit(b) || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}

// The functions below, except skipSpace, must be called only with valid JSON.

// skipSpace returns the index of the first byte from b[i] on that is not white space, or len(b) if
// there is none.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index of the byte after the string whose opening quote is b[i].
func skipString(b []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		i += n
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns the index of the byte after the value that starts at b[i].
func skipValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipContainer(b, i)
	}
	for i < len(b) && !endsScalar[b[i]] {
		i++
	}
	return i
}

var endsScalar = [256]bool{',': true, '}': true, ']': true, ' ': true, '\n': true, '\t': true, '\r': true}

// nesting returns the nesting depth of the value in b. It is 0 for a value that is neither an
// object nor an array.
func nesting(b []byte) int {
	depth, most := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = skipString(b, i) - 1
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		}
	}
	return most
}

func skipContainer(b []byte, i int) int {
	depth := 0
	for {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}
