package server

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
)

// echoChanges is a service whose answers repeat the query.
type echoChanges struct{ Changes }

func (echoChanges) Change(_ context.Context, run, task string, q fleet.ChangeQuery) (fleet.TaskChange, error) {
	return fleet.TaskChange{Change: fleet.Change{Run: run, Task: task, Tree: fmt.Sprintf("%s %d", q.Since, q.Attempt)}}, nil
}

func (echoChanges) File(_ context.Context, _, _ string, q fleet.FileQuery) (fleet.FileChange, error) {
	if q.Tree == "elsewhere" {
		return fleet.FileChange{}, &serviceError{"conflict", "change_elsewhere", "the change is on worker w"}
	}
	return fleet.FileChange{ChangeFile: fleet.ChangeFile{Path: q.Path, From: fmt.Sprintf("%s %s %d", q.Tree, q.From, q.Context)}}, nil
}

func (echoChanges) Blob(_ context.Context, _, _, blob string) ([]byte, error) {
	return []byte("<script>" + blob + "\xff"), nil
}

func TestChangesAreAskedForByQuery(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *Options) { o.Changes = echoChanges{} })
	get := func(path string) reply { return w.ask(credential.Viewer, "GET", "/v1/runs/r/tasks/t/change"+path, "") }
	if got := get("?since=aa&attempt=2"); got.status != 200 || !strings.Contains(got.body, `"run":"r","task":"t"`) || !strings.Contains(got.body, `"tree":"aa 2"`) {
		t.Errorf("change: %d %s", got.status, got.body)
	}
	// The name of a file may contain any characters.
	odd := "dir/a b\n\u202e<b>"
	if got := get("/file?" + url.Values{"path": {odd}, "tree": {"aa"}, "from": {"bb"}, "context": {"9"}}.Encode()); got.status != 200 || !strings.Contains(got.body, `"from":"aa bb 9"`) || !strings.Contains(got.body, `"path":"dir/a b\n`) {
		t.Errorf("file: %d %s", got.status, got.body)
	}
	got := get("/blob?blob=cc")
	if got.status != 200 || got.body != "<script>cc\xff" || got.header.Get("Content-Type") != "text/plain; charset=utf-8" || got.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("blob: %d %s %v", got.status, got.body, got.header)
	}
	w.wants("a change on another machine", get("/file?path=p&tree=elsewhere"), 409, "change_elsewhere")
	for _, bad := range []string{"?attempt=0", "?attempt=x", "?since=../x", "/file?tree=aa", "/file?path=a%00b&tree=aa", "/file?path=p&tree=a/b", "/file?path=p&context=-1", "/blob?blob=a/b"} {
		w.wants(bad, get(bad), 400, "invalid_request")
	}
}
