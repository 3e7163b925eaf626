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

// Meter is the usage of a Claude Code session. Claude Code reports it only to its
// status line.
type Meter struct {
	Session string  `json:"session"`
	Context float64 `json:"context"` // usage of the context, in percent
	CostUSD float64 `json:"cost_usd"`
}

// ReadMeter reads the input of Claude Code's status line. It returns false if the
// input has no valid usage.
func ReadMeter(v jsontree.Value) (Meter, bool) {
	m := Meter{Session: v.Get("session_id").Text()}
	m.Context, _ = v.Get("context_window").Get("used_percentage").Float()
	m.CostUSD, _ = v.Get("cost").Get("total_cost_usd").Float()
	sane := m.Context >= 0 && m.Context <= 100 && m.CostUSD >= 0 && m.CostUSD < 1e9
	return m, IsPlain(m.Session) && sane
}

// Note stores a meter if it has changed. It takes no lock: the last writer wins.
func (f Folder) Note(m Meter) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := f.meterOf(m.Session)
	if old, err := ReadSmall(path, maxDoc); err == nil && string(old) == string(data) {
		return nil
	}
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return err
	}
	return replace(path, fmt.Sprintf("%s/.meter-%d", f.path, os.Getpid()), data)
}

func (f Folder) meterOf(session string) string {
	return f.path + "/" + agentproc.Claude + "." + session + meterSuffix
}

const (
	meterSuffix = ".meter"
	meterAge    = 24 * time.Hour // since it was last written
)

// Meter returns the usage of a session.
func (f Folder) Meter(session string) (m Meter) {
	if !IsPlain(session) {
		return m
	}
	data, err := ReadSmall(f.meterOf(session), 4<<10)
	if err != nil {
		return Meter{}
	}
	if json.Unmarshal(data, &m) != nil || m.Session != session {
		return Meter{}
	}
	return m
}

// forgetMeter deletes a meter that was not written for a day.
func (f Folder) forgetMeter(name string, now time.Time) {
	path := f.path + "/" + name
	if info, err := os.Lstat(path); err == nil && now.Sub(info.ModTime()) > meterAge {
		_ = os.Remove(path) // the next Look tries again
	}
}

// isMeter reports whether a file is a meter, or a temporary file of one.
func isMeter(name string) bool {
	return strings.HasSuffix(name, meterSuffix) || strings.HasPrefix(name, ".meter-")
}
