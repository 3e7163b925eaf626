package report

import (
	"strings"
	"testing"
)

func TestTextAndAttributesAreEscaped(t *testing.T) {
	hostile := `</title><script>alert("1")</script>&amp;'`
	got := render(tag("p", hostile, text(hostile)).with("title", hostile))
	if n := strings.Count(got, "<"); n != 2 {
		t.Errorf("%d tags begin in %s", n, got)
	}
	if n := strings.Count(got, `"`); n != 4 {
		t.Errorf("%d quotes in %s", n, got)
	}
	if !strings.Contains(got, "&amp;amp;") {
		t.Errorf("an entity is not shown as it was written: %s", got)
	}
}

func TestElementsAreNested(t *testing.T) {
	got := render(nodes{tag("p", "", tag("b", "x", text("1")), text("2")), tag("meta", "").with("a", "b")})
	if want := "<p><b class=\"x\">1</b>2</p><meta a=\"b\">\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
