package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"gaffer/internal/api/viewers"
	"gaffer/internal/config"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// foldersOf returns the name and the document folders of the project at root, from its settings.
func (o Options) foldersOf(root string) (viewers.ProjectFolders, error) {
	c, err := config.Load(config.Inputs{Root: root, Getenv: o.Getenv})
	if err != nil {
		return viewers.ProjectFolders{}, err
	}
	return viewers.ProjectFolders{
		Name: c.ProjectName(), Folder: c.Path("paths.workflow"), Team: c.Path("paths.team"), Sessions: c.Path("paths.session"),
	}, nil
}

// viewedKind is the [store.ItemKey.Kind] of the database rows that list the projects that servers
// show. There is one such row per machine, because projects are folders on a machine. The row's id
// is the machine's name.
const viewedKind = "viewed"

// projectList is the [viewers.Registry] that stores the list of projects in the database.
type projectList struct {
	store  store.Store
	engine *engine.Engine
	key    store.ItemKey
}

// Get implements [viewers.Registry].
func (l *projectList) Get(ctx context.Context) (list []viewers.Entry, err error) {
	err = l.store.Read(ctx, func(r store.Reader) (err error) {
		list, err = entries(r.Item(l.key))
		return err
	})
	return list, err
}

func entries(item store.Item, err error) (list []viewers.Entry, _ error) {
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(item.Data, &list)
}

// Put implements [viewers.Registry].
func (l *projectList) Put(ctx context.Context, change func([]viewers.Entry) ([]viewers.Entry, error)) error {
	return l.engine.Do(ctx, "", func(s *engine.Tx) error {
		list, err := entries(s.Item(l.key))
		if err != nil {
			return err
		}
		list, changed := change(list)
		data, err := json.Marshal(list)
		if err := cmp.Or(changed, err); err != nil {
			return err
		}
		s.PutItem(store.Item{ItemKey: l.key, Data: data, Made: s.Now()})
		return nil
	})
}
