package plan

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryBrokenPlanIsRefusedWithAllThatIsWrong(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.*")
	if err != nil {
		t.Fatal(err)
	}
	broken := 0
	for _, file := range files {
		name := filepath.Base(file)
		if filepath.Ext(name) == ".txt" {
			continue
		}
		broken++
		t.Run(name, func(t *testing.T) {
			_, err := Load(nil, name, Options{Dir: filepath.Dir(file)})
			problems, ok := errors.AsType[Problems](err)
			if !ok || !problems.Invalid() {
				t.Fatalf("%v is no problem of the plan", err)
			}
			golden(t, "broken/"+strings.TrimSuffix(name, filepath.Ext(name))+".txt", problems.Error()+"\n")
		})
	}
	if broken < 30 {
		t.Errorf("%d broken plans, want 30 at least", broken)
	}
}
