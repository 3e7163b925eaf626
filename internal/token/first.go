package token

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// First makes an admin's token if there is no token at all, and keeps it in a
// file that only its owner can read. It returns "" if there was a token.
func First(ctx context.Context, b *Book, file string) (string, error) {
	all, err := b.List(ctx)
	if err != nil || len(all) > 0 {
		return "", err
	}
	// A token that nobody has seen must not be the reason that none is made.
	text, _, err := b.create(ctx, New{Role: Admin, Name: "first"}, func(text string) error {
		if err := keep(file, text); err != nil {
			return fmt.Errorf("keep the first token: %w", err)
		}
		return nil
	})
	return text, err
}

// keep replaces the file, whoever could read an old one.
func keep(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".token-") // made with 0600
	if err != nil {
		return err
	}
	_, err = temp.WriteString(text + "\n")
	if err == nil {
		err = temp.Sync()
	}
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		if gone := os.Remove(temp.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
