package jsontree

import (
	"fmt"
	"reflect"
	"strings"
)

// Mismatch is a value in a document that does not have the expected type.
type Mismatch struct {
	Path  string // path of the value, such as agents[2].status
	Want  string // the expected type, such as "a string"
	Found string // JSON text of the value, shortened
}

func (m Mismatch) String() string {
	return fmt.Sprintf("%s: %s where %s should be", m.Path, m.Found, m.Want)
}

// Decoder is implemented by types that decode themselves, for example because a member may have
// more than one form. DecodeJSON is not called for null and missing members. If DecodeJSON returns
// an error, the error's text becomes [Mismatch.Want], so the text must name the expected form, such
// as "a number or a string".
type Decoder interface{ DecodeJSON(v Value) error }

// Decode fills the struct that target points to with the members of v. The json tags of the fields
// name the members. Unlike encoding/json, Decode does not stop at an error: if a member has the
// wrong type, Decode adds a [Mismatch] to the result and continues with the next member. The field
// of the wrong member is left zero. If a member is null or missing, its field stays unchanged. A
// field of type Value accepts any value, including null.
func Decode(v Value, target any) []Mismatch {
	var d decoder
	d.value(v, reflect.ValueOf(target).Elem(), "")
	return d.found
}

type decoder struct{ found []Mismatch }

var valueType = reflect.TypeFor[Value]()

func (d *decoder) miss(path, want string, v Value) {
	if path == "" {
		path = "document"
	}
	d.found = append(d.found, Mismatch{Path: path, Want: want, Found: excerpt(v)})
}

func (d *decoder) value(v Value, to reflect.Value, path string) {
	if to.Type() == valueType {
		to.Set(reflect.ValueOf(v))
		return
	}
	if v.Absent() {
		return
	}
	if own, ok := to.Addr().Interface().(Decoder); ok {
		if err := own.DecodeJSON(v); err != nil {
			d.miss(path, err.Error(), v)
		}
		return
	}
	switch to.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(to.Type().Elem())
		before := len(d.found)
		d.value(v, fresh.Elem(), path)
		if len(d.found) == before || to.Type().Elem().Kind() == reflect.Struct && v.Kind() == Object {
			to.Set(fresh)
		}
	case reflect.Struct:
		d.object(v, to, path)
	case reflect.Slice:
		d.array(v, to, path)
	case reflect.Map:
		d.dictionary(v, to, path)
	default:
		d.scalar(v, to, path)
	}
}

func (d *decoder) scalar(v Value, to reflect.Value, path string) {
	want, ok := "", false
	switch to.Kind() {
	case reflect.String:
		var s string
		s, ok = v.Str()
		want = "a string"
		to.SetString(s)
	case reflect.Bool:
		var b bool
		b, ok = v.Bool()
		want = "true or false"
		to.SetBool(b)
	case reflect.Int, reflect.Int64:
		var n int64
		n, ok = v.Int()
		want = "a whole number"
		to.SetInt(n)
	case reflect.Float64:
		var f float64
		f, ok = v.Float()
		want = "a number"
		to.SetFloat(f)
	default:
		panic("jsontree: no way to decode into " + to.Type().String())
	}
	if !ok {
		d.miss(path, want, v)
	}
}

func (d *decoder) object(v Value, to reflect.Value, path string) {
	if v.Kind() != Object {
		d.miss(path, "an object", v)
		return
	}
	for i := range to.NumField() {
		name := tagName(to.Type().Field(i))
		if name == "" {
			continue
		}
		d.value(v.Get(name), to.Field(i), join(path, name))
	}
}

func (d *decoder) array(v Value, to reflect.Value, path string) {
	if v.Kind() != Array {
		d.miss(path, "an array", v)
		return
	}
	slice := reflect.MakeSlice(to.Type(), v.Len(), v.Len())
	for i, item := range v.Items() {
		at := fmt.Sprintf("%s[%d]", path, i)
		if elem := to.Type().Elem(); item.Kind() == Null && elem.Kind() != reflect.Pointer && elem != valueType {
			d.miss(at, "an item", item)
		}
		d.value(item, slice.Index(i), at)
	}
	to.Set(slice)
}

func (d *decoder) dictionary(v Value, to reflect.Value, path string) {
	if v.Kind() != Object {
		d.miss(path, "an object", v)
		return
	}
	to.Set(reflect.MakeMap(to.Type()))
	for name, member := range v.Members() {
		fresh := reflect.New(to.Type().Elem()).Elem()
		d.value(member, fresh, join(path, name))
		to.SetMapIndex(reflect.ValueOf(name).Convert(to.Type().Key()), fresh)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func tagName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// Unknown lists the names of the members of v for which a struct has no field. target is that
// struct or a pointer to it.
func Unknown(v Value, target any) []string {
	known := map[string]bool{}
	t := reflect.TypeOf(target)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := range t.NumField() {
		known[tagName(t.Field(i))] = true
	}
	var unknown []string
	for name := range v.Members() {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// excerpt returns the JSON text of v on one line, shortened for a message.
func excerpt(v Value) string {
	const most = 40
	head := v.Raw()[:min(len(v.Raw()), 4*most)]
	text := []rune(strings.Join(strings.Fields(string(head)), " "))
	if len(text) > most || len(head) < len(v.Raw()) {
		return string(text[:min(len(text), most)]) + "…"
	}
	return string(text)
}
