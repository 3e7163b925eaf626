package report

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"gaffer/internal/cli/env"
	"gaffer/ledger"
)

// printJSON writes the report with its raw data at the end. The statistics come first
// but are known last, so the rows are kept in a temporary file instead of memory.
func printJSON(ctx context.Context, e *env.Env, store *ledger.Store, query ledger.Query) error {
	rows, err := newSpool()
	if err != nil {
		return err
	}
	defer func() { _ = rows.file.Close() }() // the file is already deleted
	r, err := store.Report(ctx, query, rows.add)
	if err != nil {
		return err
	}
	tellUnmatched(e, r.Unmatched)
	out := bufio.NewWriter(e.Out)
	if err := head(out, r); err != nil {
		return err
	}
	if err := rows.copyTo(out); err != nil {
		return err
	}
	fmt.Fprint(out, "  ]\n}\n") // Flush returns the error
	return out.Flush()
}

// head writes the report up to the start of the rows.
func head(out io.Writer, r ledger.Report) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n}\n"))
	_, err := fmt.Fprintf(out, "%s,\n  \"raw_data\": [\n", text)
	return err
}

// spool stores rows in a temporary file that is already deleted.
type spool struct {
	file *os.File
	to   *bufio.Writer
	enc  *json.Encoder
	n    int
}

func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "gaffer-report-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close() // the first error is returned
		return nil, err
	}
	s := &spool{file: f, to: bufio.NewWriterSize(f, 1<<16)}
	s.enc = json.NewEncoder(s.to)
	s.enc.SetEscapeHTML(false)
	return s, nil
}

func (s *spool) add(a ledger.Attempt) error {
	before := "    "
	if s.n > 0 {
		before = "   ,"
	}
	s.n++
	if _, err := s.to.WriteString(before); err != nil {
		return err
	}
	return s.enc.Encode(a)
}

func (s *spool) copyTo(w io.Writer) error {
	if err := s.to.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, s.file)
	return err
}
