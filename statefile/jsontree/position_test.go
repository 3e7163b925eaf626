package jsontree

import "testing"

func TestAValueReturnsItsPosition(t *testing.T) {
	text := []byte("\xef\xbb\xbf {\"a\": [1, {\"b\" : \"x\"}]}")
	root, err := ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	at := func(v Value) string {
		p, ok := v.Position()
		if !ok {
			return "nowhere"
		}
		return string(text[p.Name:p.To]) + "|" + string(text[p.From:p.To])
	}
	list := root.Get("a")
	for _, item := range list.Items() {
		if got, want := at(item), string(item.Raw())+"|"+string(item.Raw()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if b := item.Get("b"); b.Kind() == String && at(b) != `"b" : "x"|"x"` {
			t.Errorf("b is at %s", at(b))
		}
	}
	if got := at(list); got != `"a": [1, {"b" : "x"}]|[1, {"b" : "x"}]` {
		t.Errorf("a is at %s", got)
	}
	if got := at(Value{}); got != "nowhere" {
		t.Errorf("a missing value is at %s", got)
	}
}
