package jsontree

import (
	"bytes"
	"encoding/json"
	"testing"
)

var texts = []string{
	"", "plain", `say "no"`, `a\b/c`, "\x00\x01\b\f\n\r\t\x1f\x7f", "<a href='x'>&</a>", "é ü 漢字 😀", "\u2028 and \u2029", "\ufffd",
	"\xff", "a\xffb\xc3", "\xed\xa0\x80", "cut \xf0\x9f\x98", "\xc0\xaf",
}

func FuzzATextIsQuotedAsByEncodingJSON(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
		got := quote([]byte("before"), text)
		if string(got) != "before"+string(bytes.TrimSuffix(want.Bytes(), []byte("\n"))) {
			t.Errorf("%q becomes %s, encoding/json has %s", text, got, want.Bytes())
		}
	})
}

func FuzzAStringIsReadAsByEncodingJSON(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(`"` + text + `"`))
		f.Add(quote(nil, text))
	}
	for _, text := range []string{
		`"\u0041\u00e9\u6f22"`, `"\ud83d\ude00"`, `"\uD83D\uDE00x"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\ud83dx"`, `"\ud83d\n"`, `"\ud83d\u0041"`,
		`"\ud83d\ud83d\ude00"`, `"\"\\\/\b\f\n\r\t"`, `"\ufffd"`, `"\u0000"`, `"\\u0041"`, "\"\\u0041\xff\"",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ParseValue(data)
		if err != nil || v.Kind() != String {
			return
		}
		var want string
		if err := json.Unmarshal(v.Raw(), &want); err != nil {
			t.Fatal(err)
		}
		if got := v.Text(); got != want {
			t.Errorf("%q is read as %q, by encoding/json as %q", data, got, want)
		}
	})
}
