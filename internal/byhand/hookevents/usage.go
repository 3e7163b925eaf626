package hookevents

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"gaffer/internal/byhand/agentproc"
	"gaffer/statefile/jsontree"
)

// Usage says how much of its context a Claude Code session has used, and what the session has cost.
// Claude Code passes these numbers only to the program that prints its status line.
type Usage struct {
	Session string  `json:"session"`
	Context float64 `json:"context"` // used part of the context, in percent
	CostUSD float64 `json:"cost_usd"`
}

// ParseUsage reads the JSON that Claude Code passes to the program that prints its status line. It
// returns false if the JSON has no valid usage.
func ParseUsage(v jsontree.Value) (Usage, bool) {
	m := Usage{Session: v.Get("session_id").Text()}
	m.Context, _ = v.Get("context_window").Get("used_percentage").Float()
	m.CostUSD, _ = v.Get("cost").Get("total_cost_usd").Float()
	sane := m.Context >= 0 && m.Context <= 100 && m.CostUSD >= 0 && m.CostUSD < 1e9
	return m, IsFileNameSafe(m.Session) && sane
}

// StoreUsage stores the usage of a session if it has changed. It takes no lock: if two processes
// write at the same time, the last write wins.
func (f Folder) StoreUsage(m Usage) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := f.usagePath(m.Session)
	if old, err := ReadSmallFile(path, maxDoc); err == nil && string(old) == string(data) {
		return nil
	}
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return err
	}
	return replace(path, fmt.Sprintf("%s/.meter-%d", f.path, os.Getpid()), data)
}

func (f Folder) usagePath(session string) string {
	return f.path + "/" + agentproc.Claude + "." + session + usageSuffix
}

const (
	usageSuffix = ".meter"
	usageAge    = 24 * time.Hour // usage files older than this are deleted
)

// Usage returns the stored usage of a session, or the zero value if there is none.
func (f Folder) Usage(session string) (m Usage) {
	if !IsFileNameSafe(session) {
		return m
	}
	data, err := ReadSmallFile(f.usagePath(session), 4<<10)
	if err != nil {
		return Usage{}
	}
	if json.Unmarshal(data, &m) != nil || m.Session != session {
		return Usage{}
	}
	return m
}

// removeOldUsage deletes a usage file if it was last written more than usageAge ago.
func (f Folder) removeOldUsage(name string, now time.Time) {
	path := f.path + "/" + name
	if info, err := os.Lstat(path); err == nil && now.Sub(info.ModTime()) > usageAge {
		_ = os.Remove(path) // ignore the error: the next call of All tries again
	}
}

// isUsageFile reports whether a file holds the usage of a session, or is a temporary
// file for it.
func isUsageFile(name string) bool {
	return strings.HasSuffix(name, usageSuffix) || strings.HasPrefix(name, ".meter-")
}
