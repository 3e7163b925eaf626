package heard

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// fill gives every field below v a value of its own.
func fill(v reflect.Value, n *int) {
	*n++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(noon.Add(time.Duration(*n) * 1234567)))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case v.CanInt():
		v.SetInt(int64(*n))
	case v.CanUint():
		v.SetUint(uint64(*n))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	default:
		v.SetString("<\"é\n\\" + string(rune('a'+*n%26)))
	}
}

func TestADocumentIsWhatItsTagsSay(t *testing.T) {
	var full Session
	n := 0
	fill(reflect.ValueOf(&full).Elem(), &n)
	sparse := Session{Asked: []Asked{{}}, Trails: []Trail{{}}}
	for _, s := range []Session{full, sparse, {}} {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		if got := s.encode(); string(got)+"\n" != want.String() {
			t.Errorf("got  %s\nwant %s", got, want.Bytes())
		}
		if got, ok := decode(want.Bytes()); !ok || !reflect.DeepEqual(got, s) {
			t.Errorf("got  %+v\nwant %+v", got, s)
		}
	}
}
