package interactive

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gaffer/statefile/jsontree"
)

// Meter is what a session of Claude Code has used, which it tells its status line
// alone.
type Meter struct {
	Session string  `json:"session"`
	Context float64 `json:"context"` // how full it is, in percent
	CostUSD float64 `json:"cost_usd"`
}

// ReadMeter takes what Claude Code gives its status line. It is false if that
// says nothing of the kind.
func ReadMeter(v jsontree.Value) (Meter, bool) {
	m := Meter{Session: v.Get("session_id").Text()}
	m.Context, _ = v.Get("context_window").Get("used_percentage").Float()
	m.CostUSD, _ = v.Get("cost").Get("total_cost_usd").Float()
	sane := m.Context >= 0 && m.Context <= 100 && m.CostUSD >= 0 && m.CostUSD < 1e9
	return m, plain(m.Session) && sane
}

// Note keeps a meter, unless it says what is known already. It takes no lock: the
// last one counts.
func (f Folder) Note(m Meter) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := f.meterOf(m.Session)
	if old, err := readSmall(path, maxDoc); err == nil && string(old) == string(data) {
		return nil
	}
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return err
	}
	temp := filepath.Join(f.path, fmt.Sprintf(".meter-%d", os.Getpid()))
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

func (f Folder) meterOf(session string) string {
	return filepath.Join(f.path, Claude+"."+session+meterSuffix)
}

const meterSuffix = ".meter"

// meter reads what a session has used.
func (f Folder) meter(session string) (m Meter) {
	if !plain(session) {
		return m
	}
	data, err := readSmall(f.meterOf(session), 4<<10)
	if err != nil || json.Unmarshal(data, &m) != nil || m.Session != session {
		return Meter{}
	}
	return m
}

// forgetMeter removes one that nobody has written to for long.
func (f Folder) forgetMeter(name string, now time.Time) {
	path := filepath.Join(f.path, name)
	if info, err := os.Lstat(path); err == nil && now.Sub(info.ModTime()) > forgetUnknown {
		_ = os.Remove(path) // the next look tries again
	}
}

// isMeter tells whether a file is one, or has been left half-way.
func isMeter(name string) bool {
	return strings.HasSuffix(name, meterSuffix) || strings.HasPrefix(name, ".meter-")
}
