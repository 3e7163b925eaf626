package store

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type parsed interface {
	AppendJSON([]byte) ([]byte, error)
	ParseJSON([]byte) bool
}

func rowsToParse() []parsed { return []parsed{&Task{}, &Attempt{}, &Event{}} }

func newOf(row parsed) parsed { return reflect.New(reflect.TypeOf(row).Elem()).Interface().(parsed) }

// agrees fails if a row parses a text differently from package json. It reports whether
// the row parses it at all.
func agrees(t interface{ Fatalf(string, ...any) }, row parsed, text []byte) bool {
	got, want := newOf(row), newOf(row)
	if !got.ParseJSON(text) {
		return false
	}
	if err := json.Unmarshal(text, want); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s is read as\n%+v, by package json as\n%+v (%v)", text, got, want, err)
	}
	return true
}

func TestRowsAreReadAsPackageJSONReadsThem(t *testing.T) {
	for _, row := range rowsToParse() {
		rapid.Check(t, func(t *rapid.T) {
			fill(t, reflect.ValueOf(row).Elem())
			text, err := row.AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			agrees(t, row, text)
		})
	}
}

func TestRowsThatHaveNothingUnusualAreReadByHand(t *testing.T) {
	for _, row := range rowsToParse() {
		v := reflect.ValueOf(row).Elem()
		ordinary(v)
		text, err := row.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if !agrees(t, row, text) {
			t.Errorf("%s is left to package json", text)
		}
		empty := newOf(row)
		text, err = empty.AppendJSON(nil)
		if err != nil || !agrees(t, row, text) {
			t.Errorf("%s is left to package json: %v", text, err)
		}
	}
}

// ordinary sets every field except raw JSON.
func ordinary(v reflect.Value) {
	for i := range v.NumField() {
		switch field := v.Field(i); field.Interface().(type) {
		case time.Time:
			field.Set(reflect.ValueOf(time.Unix(1e9, 5).UTC()))
		case []string:
			field.Set(reflect.ValueOf([]string{"a", "é"}))
		case json.RawMessage:
		default:
			switch field.Kind() {
			case reflect.Struct:
				ordinary(field)
			case reflect.String:
				field.SetString("text, {\"with\": more}"[:6+i%2])
			case reflect.Bool:
				field.SetBool(true)
			default:
				field.SetInt(int64(i) - 3)
			}
		}
	}
}

func FuzzWhatARowReadsIsWhatPackageJSONReads(f *testing.F) {
	for _, text := range []string{
		`{}`, ``, `{`, `{"seq":1}`, `{"seq":01}`, `{"seq":-0}`, `{"seq":1.5}`, `{"seq":1e3}`, `{"seq":99999999999999999999}`, `{"seq":1}x`,
		`{"run":"a\"b"}`, `{"run":"é"}`, "{\"run\":\"\xff\"}", `{"run":null}`, `{"run":"r","run":"s"}`, `{"task":"t","run":"r"}`, `{"Run":"r"}`,
		`{"needs":[]}`, `{"needs":["a","b"]}`, `{"needs":["a",]}`, `{"ready":true}`, `{"ready":truee}`, `{"reserve":{"tokens":1}}`, `{"reserve":{}}`,
		`{"at":"2026-01-02T03:04:05Z"}`, `{"at":"yesterday"}`, `{"lease":"2026-01-02T03:04:05.000000006+01:00"}`, `{"seq":1,}`, `{,"seq":1}`, `{"seq":1 }`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, row := range rowsToParse() {
			agrees(t, row, text)
		}
	})
}
