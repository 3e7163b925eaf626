package worktree

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gaffer/statefile/host"
)

// Occupant is a process that uses a worktree: its current folder is in it, or
// it was named to [Repo.Occupy].
type Occupant struct {
	PID     int
	Command string // empty if it cannot be told
}

func (o Occupant) String() string {
	if o.Command == "" {
		return fmt.Sprintf("pid %d", o.PID)
	}
	return fmt.Sprintf("pid %d (%s)", o.PID, o.Command)
}

// Occupy says that a process uses a tree, wherever its current folder is, until
// it ends or [Repo.Vacate] is called. A tree that another one uses, or might
// use, is a [*TakenError].
func (r *Repo) Occupy(ctx context.Context, t Tree, p host.Process) error {
	return r.change(ctx, t, func(rec *record) error {
		if o := rec.Occupant; o != nil && *o != p && r.host.Alive(*o) != host.Dead {
			return &TakenError{"worktree", t.Path, fmt.Sprintf("used by pid %d", o.PID), "end that process or wait for it"}
		}
		rec.Occupant = &p
		return nil
	})
}

// Vacate takes back what Occupy said for the same process.
func (r *Repo) Vacate(ctx context.Context, t Tree, p host.Process) error {
	return r.change(ctx, t, func(rec *record) error {
		if rec.Occupant != nil && *rec.Occupant == p {
			rec.Occupant = nil
		}
		return nil
	})
}

func (r *Repo) change(ctx context.Context, t Tree, do func(*record) error) error {
	return r.locked(ctx, func(git) error {
		rec, err := r.findRecord(t)
		if err != nil {
			return err
		}
		if err := do(&rec); err != nil {
			return err
		}
		return r.save(rec)
	})
}

// occupants are those that live, or of which that cannot be told.
func (r *Repo) occupants(ctx context.Context, rec record) ([]Occupant, error) {
	all, err := sitters(ctx, rec.Path)
	if err != nil {
		return nil, err
	}
	if o := rec.Occupant; o != nil && r.host.Alive(*o) != host.Dead &&
		!slices.ContainsFunc(all, func(other Occupant) bool { return other.PID == o.PID }) {
		all = append(all, Occupant{PID: o.PID})
	}
	return all, nil
}

// inside tells whether a path is a folder or below it.
func inside(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// parseLsof reads the output of lsof -Fpcn: a process's id and name, each on a
// line that begins with p or c, and then the names of its files.
func parseLsof(out, folder string) []Occupant {
	var found []Occupant
	var now Occupant
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		switch value := line[1:]; line[0] {
		case 'p':
			pid, _ := strconv.Atoi(value)
			now = Occupant{PID: pid}
		case 'c':
			now.Command = value
		case 'n':
			if inside(folder, value) {
				found = append(found, now)
			}
		}
	}
	return found
}
