package figure

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestFiguresAreReadAsTheyWereAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures")
	first := Figure{Measure: "run.time", Program: "gaffer", Kind: Gaffer, Size: 10, Value: 1.5}
	second := Figure{Measure: "run.time", Program: "go-task", Kind: Other, Size: 10, Note: "stopped after 120 s"}
	for _, f := range []Figure{first, second} {
		if err := Append(path, f); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := Read(f)
	if err != nil || !reflect.DeepEqual(got, []Figure{first, second}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestALineThatIsNoFigureIsRefused(t *testing.T) {
	good := `{"measure":"m","program":"p","kind":"limit","value":1}` + "\n"
	for _, bad := range []string{"seconds: 1", `{"measure":"m","program":"p","value":1}`, `{"measure":"m","program":"p","kind":"best","value":1}`} {
		if _, err := Read(strings.NewReader(good + bad + "\n")); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := Append("", Figure{}); err != nil {
		t.Errorf("without a file: %v", err)
	}
}
