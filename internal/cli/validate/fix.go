package validate

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"gaffer/ledger"
)

// fix repairs the run and result records among the targets of the command. It calls visit for every
// record, also for those that need no repair or cannot be repaired. It is no error if the project
// itself has no records.
func (v *validator) fix(ctx context.Context, targets []target, visit func(ledger.Fix) error) error {
	for _, t := range targets {
		repair, ok := v.repairs(t.kind)
		if !ok {
			continue
		}
		path := t.path
		if path == "" {
			path = v.projectPath(ownKind(t.kind))
		}
		err := repair(ctx, path, visit)
		if errors.Is(err, fs.ErrNotExist) && t.path == "" {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) repairable(t target) bool {
	_, ok := v.repairs(t.kind)
	return ok
}

func ownKind(k kind) kind {
	if k == all {
		return ledgers
	}
	return k
}

type repairer func(ctx context.Context, path string, visit func(ledger.Fix) error) error

func (v *validator) repairs(k kind) (repairer, bool) {
	switch k {
	case runs:
		return v.repairRecords(ledger.RunKind), true
	case results:
		return v.repairRecords(ledger.ResultKind), true
	case ledgers, all:
		return func(ctx context.Context, root string, visit func(ledger.Fix) error) error {
			return v.store(root).Fix(ctx, visit)
		}, true
	}
	return nil, false
}

// repairRecords returns a function that repairs records of the kind k. The parameter path of that
// function names one record or a folder of records. The function uses the parent of the records'
// folder as the root of the ledger, the folder that contains all run and result records.
func (v *validator) repairRecords(k ledger.Kind) repairer {
	return func(ctx context.Context, path string, visit func(ledger.Fix) error) error {
		folder := path
		if !isFolder(path) {
			folder = filepath.Dir(path)
		}
		return v.store(filepath.Dir(folder)).FixPath(ctx, k, path, visit)
	}
}
