package mcp

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"gaffer/team"
)

func TestAMessageWithoutAnIDIsReadAndThoseAfterItAreMarked(t *testing.T) {
	ctx, root := context.Background(), filepath.Join(t.TempDir(), "coordination")
	store := team.Open(root, team.Options{})
	if _, err := store.Init(ctx, "Build it"); err != nil {
		t.Fatal(err)
	}
	text := `{"messages": [{"group_id": "A", "subject": "without"}, {"id": "m1", "group_id": "A", "subject": "with"}]}`
	if err := os.WriteFile(filepath.Join(root, team.DevToQADoc.Path()), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &Server{opts: Options{Caller: Caller{Role: Role(team.QAExpert)}, Team: store}}
	for _, want := range []int{2, 1} {
		r, _, err := s.readMessages(ctx, nil, messagesArgs{MarkRead: true})
		if err != nil || len(r.Messages) != want || r.Messages[0].Subject != "without" {
			t.Errorf("%+v, %v; want %d", r.Messages, err, want)
		}
	}
}
