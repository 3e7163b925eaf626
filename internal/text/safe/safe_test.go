package safe

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestALogCannotControlTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext é日\n":                        "plain\ttext é日\n",
		"\x1b[31mred\x1b[0m":                      "\x1b[31mred\x1b[0m\x1b[0m",
		"\x1b[38;2;1;2;3mrgb\x1b[4:3m":            "\x1b[38;2;1;2;3mrgb\x1b[4:3m\x1b[0m",
		"\x1b[2J\x1b[H\x1b[1;1Hx":                 "x",
		"\x1b[?1049hx":                            "x",
		"\x1b[>4;2mx":                             "x",
		"\x1b]0;title\x07x":                       "x",
		"\x1b]52;c;aGVsbG8=\x1b\\x":               "x",
		"\x1bPq#0\x1b\\x":                         "x",
		"\x1b]0;never ends\nx":                    "\nx",
		"\x1bcx":                                  "x",
		"a\r\nb\rc\r":                             "a\nb\nc",
		"10%\r\x1b[K20%\r\x1b[2K\x1b[32m30%":      "10%\n20%\x1b[32m\n30%\x1b[0m",
		"a\r\x1b[K\nb\r\x1b]0;x\nc\r\x1b\nd":      "a\nb\nc\nd",
		"\x00\x07\x08":                            "\ufffd\ufffd\ufffd",
		"\u009b31mx":                              "\ufffd31mx",
		"\u202ex":                                 "\ufffdx",
		"\xff\xfex":                               "\ufffd\ufffdx",
		"\x1b[" + strings.Repeat("1;", 99) + "mx": "x",
		"\x1b[31\nx":                              "\nx",
		"\x1b\x1b[2Jx":                            "x",
	} {
		for cut := range len(in) + 1 { // write the input in two pieces, cut at any position
			var b bytes.Buffer
			p := New(&b)
			for _, part := range []string{in[:cut], in[cut:]} {
				if n, err := io.WriteString(p, part); err != nil || n != len(part) {
					t.Fatalf("%d, %v", n, err)
				}
			}
			p.End()
			if b.String() != want {
				t.Errorf("%q cut at %d: %q, want %q", in, cut, b.String(), want)
			}
		}
	}
}

func FuzzALogCannotControlTheTerminal(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\x1b[2J\r\n\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b bytes.Buffer
		p := New(&b)
		for _, part := range bytes.SplitAfter(data, []byte("b")) {
			if _, err := p.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		left := b.String()
		for {
			at := strings.IndexByte(left, 0x1b)
			if at < 0 {
				break
			}
			left = left[at+1:]
			end := strings.IndexByte(left, 'm')
			if end < 1 || left[0] != '[' || strings.Trim(left[1:end], "0123456789;:") != "" {
				t.Fatalf("%q lets %q through", data, left)
			}
		}
	})
}
