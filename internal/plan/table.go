package plan

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"gaffer/statefile/jsontree"
)

// tableRows returns a mapping for each task in a table, which has one task on each line. If the
// name of the file arg ends in .csv, the table is CSV. Otherwise each line is a JSON object.
func (l *loader) tableRows(arg string, data []byte) []*node {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		l.report(position{line: 1}, "found bytes that are not text (UTF-8)")
		return nil
	}
	if strings.EqualFold(filepath.Ext(arg), ".csv") {
		return l.csvRows(data)
	}
	return l.jsonRows(data)
}

func (l *loader) csvRows(data []byte) (rows []*node) {
	r := csv.NewReader(bytes.NewReader(data))
	header, err := r.Read()
	for i := range header {
		header[i] = strings.ToLower(strings.TrimSpace(header[i]))
		if problem := columnProblem(header[i], header[:i]); problem != "" {
			at, column := r.FieldPos(i)
			l.report(position{line: at, column: column}, "%s", problem)
			l.suggest(header[i], keyNames(tableKeys()))
		}
	}
	for err == nil && len(l.problems) == 0 {
		var record []string
		if record, err = r.Read(); err != nil {
			break
		}
		row := l.csvRow(r, header, record)
		if len(rows) == maxTasks {
			l.report(row.position, "found more than %d lines, which is too much for one plan", maxTasks)
			return nil
		}
		rows = append(rows, row)
	}
	if bad, ok := errors.AsType[*csv.ParseError](err); ok {
		l.report(position{line: bad.Line, column: bad.Column}, "not CSV: %v", bad.Err)
	}
	return rows
}

// csvRow returns the mapping for one row of a CSV table. It leaves out empty cells. In the columns
// prompt, title and name, each cell is a text. In the other columns, a cell that begins with [ or {
// is read as JSON, so that it can be a list or a mapping.
func (l *loader) csvRow(r *csv.Reader, header, record []string) *node {
	line, _ := r.FieldPos(0)
	n := &node{kind: mapping, position: position{line: line, column: 1}, size: 1}
	for i, cell := range record {
		if strings.TrimSpace(cell) == "" || i >= len(header) {
			continue
		}
		at := position{}
		at.line, at.column = r.FieldPos(i)
		value := &node{kind: scalar, text: cell, position: at, size: 1}
		key := header[i]
		if key != "prompt" && key != "title" && key != "name" {
			value.text = strings.TrimSpace(cell)
			if value.text[0] == '[' || value.text[0] == '{' {
				if parsed := l.jsonNode([]byte(value.text), at.line); parsed != nil {
					value = parsed
				}
			}
		}
		n.pairs = append(n.pairs, pair{key: key, at: at, value: value})
	}
	return n
}

func (l *loader) jsonRows(data []byte) (rows []*node) {
	number := 0
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		number++
		bare := bytes.TrimSpace(line)
		if len(bare) == 0 {
			continue
		}
		if len(rows) == maxTasks {
			l.report(position{line: number}, "found more than %d lines, which is too much for one plan", maxTasks)
			return nil
		}
		n := l.jsonNode(line, number)
		switch {
		case n == nil && len(l.problems) > maxTableProblems:
			return nil
		case n == nil:
			continue
		case n.kind != mapping:
			l.report(n.position, `a line is one task such as {"id": "api", "title": "The API", "prompt": "…"}, found %s`, n.kind)
			continue
		}
		// Ignore keys whose value is null: some programs write them for keys that are not set.
		n.pairs = slices.DeleteFunc(n.pairs, func(p pair) bool { return p.value.kind == nothing })
		rows = append(rows, n)
	}
	return rows
}

// jsonNode parses line, which must contain one JSON value. The parameter number is the number of
// that line in the file. If line is not valid JSON, jsonNode reports a problem and returns nil.
func (l *loader) jsonNode(line []byte, number int) *node {
	if _, err := jsontree.Parse(line); err != nil {
		at, problem := position{line: number}, err.Error()
		if e, ok := errors.AsType[*jsontree.SyntaxError](err); ok {
			at.column, problem = utf8.RuneCount(line[:min(e.Offset, len(line))])+1, e.Problem
		}
		l.report(at, "not JSON: %.200s", strings.ReplaceAll(problem, "the document", "the line"))
		return nil
	}
	j := jsonReader{reporter: &l.reporter, line: line, number: number, tokens: json.NewDecoder(bytes.NewReader(line))}
	j.tokens.UseNumber()
	return j.value()
}
