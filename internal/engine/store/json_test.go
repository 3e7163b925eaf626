package store

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever a row contains, its JSON must be that of package json. A field that
// AppendJSON forgets or writes differently would be lost or changed.
func TestRowsAreWrittenAsPackageJSONWritesThem(t *testing.T) {
	for _, row := range []interface {
		AppendJSON([]byte) ([]byte, error)
	}{&Task{}, &Attempt{}, &Worker{}, &Item{}, &Promise{}, &Event{}} {
		rapid.Check(t, func(t *rapid.T) {
			fill(t, reflect.ValueOf(row).Elem())
			got, err := row.AppendJSON([]byte("before"))
			if err != nil {
				t.Fatal(err)
			}
			var want bytes.Buffer
			encoder := json.NewEncoder(&want)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(row); err != nil {
				t.Fatal(err)
			}
			if string(got) != "before"+string(bytes.TrimSuffix(want.Bytes(), []byte("\n"))) {
				t.Fatalf("%s, want\n%s", got, want.Bytes())
			}
		})
	}
}

func TestATimeThatIsNoneIsAnError(t *testing.T) {
	a := Attempt{Lease: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}
	if _, err := a.AppendJSON(nil); err == nil {
		t.Error("the year 10000 was written")
	}
}

var texts = rapid.OneOf(rapid.Just(""), rapid.StringN(1, 9, -1), rapid.SampledFrom([]string{"a\"b", `\`, "<&>", "\x00\x7f\u2028", "\xff", "é"}))

// fill sets every field of a struct to some value.
func fill(t *rapid.T, v reflect.Value) {
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		switch field.Interface().(type) {
		case time.Time:
			at := rapid.SampledFrom([]time.Time{{}, time.Unix(1e9, 5).UTC(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))})
			field.Set(reflect.ValueOf(at.Draw(t, name)))
			continue
		case json.RawMessage:
			field.Set(reflect.ValueOf(rapid.SampledFrom([]json.RawMessage{nil, []byte(`{"a":[1,"é"]}`)}).Draw(t, name)))
			continue
		case []string:
			field.Set(reflect.ValueOf(rapid.SliceOfN(texts, 0, 3).Draw(t, name)))
			continue
		}
		switch field.Kind() {
		case reflect.Struct:
			fill(t, field)
		case reflect.String:
			field.SetString(texts.Draw(t, name))
		case reflect.Bool:
			field.SetBool(rapid.Bool().Draw(t, name))
		case reflect.Int, reflect.Int64:
			field.SetInt(rapid.Int64Range(-2, 1<<40).Draw(t, name))
		default:
			t.Fatalf("%s is a %s: say here how to fill it", name, field.Kind())
		}
	}
}
