package server_test

import (
	"strings"
	"testing"

	"gaffer/internal/api/credential"
)

// A project is named by its path, which may be longer than other names.
func TestAProjectMayBeAsLongAsAPath(t *testing.T) {
	w := startWhole(t)
	for _, url := range []string{"/v1/runs?project=", "/v1/runs/find?name=x&project=", "/v1/report?project="} {
		if got := w.ask(credential.Viewer, "GET", url+"/"+strings.Repeat("a/", 300), ""); got.status == 400 {
			t.Errorf("%s with 600 characters: %d %s", url, got.status, got.body)
		}
		if got := w.ask(credential.Viewer, "GET", url+strings.Repeat("x", 4097), ""); got.status != 400 {
			t.Errorf("%s with 4097 characters: %d %s", url, got.status, got.body)
		}
	}
}
