package main

import (
	"crypto/sha256"
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"
)

func TestTheBillOfMaterialsListsTheProgramTheStandardLibraryAndEveryModule(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "gaffer"},
		Deps: []*debug.Module{
			{Path: "example.org/a", Version: "v1.2.0", Sum: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE="},
			{Path: "example.org/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/new", Version: "v2.0.0", Sum: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI="}},
		},
	}
	b, err := describe(info, sha256.Sum256([]byte("program")), "0.1.0", "2026-11-18T07:18:08Z")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"purl":"pkg:golang/gaffer@0.1.0"`,
		`"content":"1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8"`,
		`"purl":"pkg:golang/std@1.26.8"`,
		`"name":"example.org/a","version":"v1.2.0","hashes":[{"alg":"SHA-256","content":"` + strings.Repeat("0", 63) + `1"}],"purl":"pkg:golang/example.org/a@v1.2.0"`,
		`"name":"example.org/new","version":"v2.0.0"`,
		`"dependsOn":["pkg:golang/std@1.26.8","pkg:golang/example.org/a@v1.2.0","pkg:golang/example.org/new@v2.0.0"]`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in\n%s", want, data)
		}
	}
}

func TestAModuleWithoutAChecksumIsAnError(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Path: "gaffer"}, Deps: []*debug.Module{{Path: "example.org/local", Version: "(devel)"}}}
	if _, err := describe(info, sha256.Sum256(nil), "0.1.0", ""); err == nil || !strings.Contains(err.Error(), "example.org/local") {
		t.Errorf("got error %v, want one that names the module", err)
	}
}
