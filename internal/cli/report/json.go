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

// printJSON prints the report as one JSON object, in which the raw data come last. The statistics
// before them are known only after all raw data were read, so the raw data are first written to a
// temporary file.
func printJSON(ctx context.Context, e *env.Env, store *ledger.Store, query ledger.Query) error {
	file, err := os.CreateTemp("", "gaffer-report-")
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // ignore the error: the file is temporary
	if err := os.Remove(file.Name()); err != nil {
		return err
	}
	rows := bufio.NewWriterSize(file, 1<<16)
	enc := json.NewEncoder(rows)
	enc.SetEscapeHTML(false)
	indent := "    "
	r, err := store.Report(ctx, query, func(a ledger.Attempt) error {
		if _, err := rows.WriteString(indent); err != nil {
			return err
		}
		indent = "   ,"
		return enc.Encode(a)
	})
	if err != nil {
		return err
	}
	if err := rows.Flush(); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	printUnmatched(e, r.Unmatched)
	var head bytes.Buffer
	enc = json.NewEncoder(&head)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return err
	}
	out := bufio.NewWriter(e.Out) // ignore errors of writes: Flush returns them
	fmt.Fprintf(out, "%s,\n  \"raw_data\": [\n", bytes.TrimSuffix(head.Bytes(), []byte("\n}\n")))
	if _, err := io.Copy(out, file); err != nil {
		return err
	}
	fmt.Fprint(out, "  ]\n}\n")
	return out.Flush()
}
