package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/lazyregexp"
)

// lines parses the JSON on each line of a file. It skips empty lines and comments, which
// begin with # or //.
func (b *beadReader) lines(data []byte) []*node {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !b.isText(data) {
		return nil
	}
	var nodes []*node
	count, number := 0, 0
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		number++
		bare := bytes.TrimSpace(line)
		if len(bare) == 0 || bare[0] == '#' || bytes.HasPrefix(bare, []byte("//")) {
			continue
		}
		at := position{line: number, column: 1}
		if count++; count > maxTasks {
			b.report(at, "found more than %d beads, which is too much for one plan", maxTasks)
			break
		}
		if problem := wholeFileProblem(bare); problem != "" {
			b.report(at, "%s", problem)
			break
		}
		if n := b.line(line, number); n != nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func (b *beadReader) isText(data []byte) bool {
	odd := bytes.IndexByte(data, 0)
	for i := 0; odd < 0 && i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			odd = i
		}
		i += size
	}
	if odd < 0 {
		return true
	}
	b.report(position{line: bytes.Count(data[:odd], []byte{'\n'}) + 1}, "found the byte 0x%02x, want text (UTF-8) with one bead on each line", data[odd])
	return false
}

// wholeFileProblem returns a problem if the line shows that the whole file is wrong: a conflict
// marker of git, or JSON that is spread over several lines. It returns "" if the line shows no
// problem.
func wholeFileProblem(line []byte) string {
	for _, mark := range []string{"<<<<<<< ", ">>>>>>> "} {
		if bytes.HasPrefix(line, []byte(mark)) {
			return "found a mark that git leaves at a conflict; resolve that first"
		}
	}
	if s := string(line); s == "{" || s == "[" {
		return fmt.Sprintf("found %q alone on a line, want each bead whole on one line; jq -c . or, for a list, jq -c '.[]' writes it so", s)
	}
	return ""
}

// unreadableID finds the id of a bead in a line that is not valid JSON. The id is in group 1 of the
// regular expression.
var unreadableID = lazyregexp.New(`"(?:bead|id)"\s*:\s*"([^"\\]+)"`)

// line parses one line of the file. If it is not valid, the method reports a problem and returns
// nil.
func (b *beadReader) line(line []byte, number int) *node {
	if _, err := jsontree.Parse(line); err != nil {
		at, problem := position{line: number}, err.Error()
		if e, ok := errors.AsType[*jsontree.SyntaxError](err); ok {
			at.column = utf8.RuneCount(line[:min(e.Offset, len(line))]) + 1
			problem = rewordForLine(e.Problem)
		}
		b.report(at, "not JSON: %.200s", problem)
		if m := unreadableID().FindSubmatch(line); m != nil {
			b.unreadable[string(m[1])] = true
		}
		return nil
	}
	j := jsonReader{reporter: b.reporter, line: line, number: number, tokens: json.NewDecoder(bytes.NewReader(line))}
	j.tokens.UseNumber()
	n := j.value()
	if n.kind != mapping {
		b.report(n.position, `a line is one bead such as {"bead": "bd-1", "prompt": "…"}, found %s`, n.kind)
		return nil
	}
	return n
}

// rewordForLine changes a message of the JSON parser about a document, so that the message is about
// a line.
func rewordForLine(problem string) string {
	if strings.HasPrefix(problem, "text after the end") {
		return "found more behind the bead, want one bead on each line"
	}
	return strings.ReplaceAll(problem, "the document", "the line")
}

// jsonReader converts a line of valid JSON to a tree of nodes with their positions in the file.
type jsonReader struct {
	*reporter
	line    []byte
	number  int
	tokens  *json.Decoder
	counted int // how many bytes of the line are already counted in column
	column  int // number of characters in line[:counted]
}

// next returns the next JSON token and its position in the file.
func (j *jsonReader) next() (json.Token, position) {
	from := int(j.tokens.InputOffset())
	for from < len(j.line) && strings.IndexByte(" \t\r,:", j.line[from]) >= 0 {
		from++
	}
	j.column += utf8.RuneCount(j.line[j.counted:from])
	j.counted = from
	token, err := j.tokens.Token()
	if err != nil {
		panic("plan: what was valid JSON is not: " + err.Error())
	}
	return token, position{line: j.number, column: j.column + 1}
}

func (j *jsonReader) value() *node {
	token, at := j.next()
	n := &node{kind: scalar, position: at, size: 1}
	switch token := token.(type) {
	case json.Delim:
		j.parts(n, token)
	case nil:
		n.kind = nothing
	default:
		n.text = fmt.Sprint(token)
	}
	return n
}

func (j *jsonReader) parts(n *node, open json.Delim) {
	n.kind = list
	keys := map[string]bool{}
	if open == '{' {
		n.kind = mapping
	}
	for j.tokens.More() {
		if open == '[' {
			n.items = append(n.items, j.value())
			continue
		}
		token, at := j.next()
		p := pair{key: fmt.Sprint(token), at: at, value: j.value()}
		if keys[p.key] {
			j.report(at, "the key %.80q stands here twice", p.key)
			continue
		}
		keys[p.key] = true
		n.pairs = append(n.pairs, p)
	}
	j.next() // skip the closing bracket or brace
}
