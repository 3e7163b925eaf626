package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
)

type object = map[string]any

// describe returns the OpenAPI document for a table of routes. The schemas are derived
// from the Go types, so that the document always matches them.
func describe(table []route) ([]byte, error) {
	paths, shapes := object{}, schemas{named: object{}}
	for _, r := range table {
		path := openAPIPath(r.path)
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path].(object)[strings.ToLower(r.method)] = r.describe(shapes)
	}
	return json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "gaffer coordinator", "version": "1",
			"description": "Agents, channels, chains, tasks, inputs and events, and the stream of what changes.",
		},
		"security": []object{{"bearer": []string{}}, {"key": []string{}}, {"query": []string{}}, {"keyQuery": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas": shapes.named,
			"securitySchemes": object{
				"bearer":   object{"type": "http", "scheme": "bearer"},
				"key":      object{"type": "apiKey", "in": "header", "name": "X-Api-Key"},
				"query":    object{"type": "apiKey", "in": "query", "name": "token", "description": "for GET only"},
				"keyQuery": object{"type": "apiKey", "in": "query", "name": "api_key", "description": "for GET only"},
			},
		},
	}, "", " ")
}

// openAPIPath converts a path pattern of the mux to OpenAPI's notation: "/assets/{path...}" becomes
// "/assets/{path}", and "/{$}" becomes "/".
func openAPIPath(path string) string {
	return strings.TrimSuffix(strings.ReplaceAll(path, "...}", "}"), "{$}")
}

func (r route) describe(shapes schemas) object {
	op := object{"summary": r.about, "x-access": string(r.access), "responses": r.responses(shapes)}
	if r.access == open {
		op["security"] = []object{}
	}
	if parameters := r.parameters(); len(parameters) > 0 {
		op["parameters"] = parameters
	}
	if r.takes != nil {
		op["requestBody"] = object{"required": true, "content": content(shapes.of(reflect.TypeOf(r.takes)))}
	}
	return op
}

func (r route) parameters() (all []object) {
	for _, part := range strings.Split(r.path, "/") {
		if name := strings.Trim(part, "{.}"); name != part && name != "$" {
			all = append(all, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	for _, name := range r.query {
		all = append(all, object{"name": name, "in": "query", "schema": object{"type": "string"}})
	}
	return all
}

func (r route) responses(shapes schemas) object {
	done := object{"description": http.StatusText(r.status)}
	if r.gives != nil {
		done["content"] = content(shapes.of(reflect.TypeOf(r.gives)))
	}
	all := object{strconv.Itoa(r.status): done}
	failures := append([]int{http.StatusForbidden}, r.moreStatuses...)
	if r.access != open {
		failures = append(failures, http.StatusUnauthorized, http.StatusTooManyRequests)
	}
	if r.takes != nil {
		failures = append(failures, http.StatusBadRequest, http.StatusRequestEntityTooLarge)
	}
	for _, status := range failures {
		if status < 300 && r.gives == nil {
			all[strconv.Itoa(status)] = done
			continue
		}
		body := content(shapes.of(reflect.TypeFor[failure]()))
		if status < 300 || status == http.StatusServiceUnavailable && r.gives != nil {
			body = content(shapes.of(reflect.TypeOf(r.gives)))
		}
		all[strconv.Itoa(status)] = object{"description": http.StatusText(status), "content": body}
	}
	return all
}

func content(schema object) object { return object{"application/json": object{"schema": schema}} }

// schemas collects the OpenAPI schemas of Go structs, by the name that nameOf returns.
type schemas struct{ named object }

func (s schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage]():
		return object{"description": "any JSON"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return s.ofStruct(t)
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Interface:
		return object{"description": "any JSON"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	}
	return object{"type": "string"}
}

func (s schemas) ofStruct(t reflect.Type) object {
	name := nameOf(t)
	if s.named[name] == nil {
		fields := object{}
		s.named[name] = object{"type": "object", "properties": fields}
		for field, kind := range fieldsOf(t) {
			fields[field] = s.of(kind)
		}
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// nameOf returns the name of a type's OpenAPI schema. For a type of package fleet whose name does
// not begin with Run, it adds this prefix, because other packages have types of the same name, for
// example coordinator.Task.
func nameOf(t reflect.Type) string {
	if strings.HasSuffix(t.PkgPath(), "/fleet") && !strings.HasPrefix(t.Name(), "Run") {
		return "Run" + t.Name()
	}
	return strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
}

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if t.Field(i).Anonymous && name == "" {
			maps.Copy(fields, fieldsOf(t.Field(i).Type))
		}
		if name != "" && name != "-" {
			fields[name] = t.Field(i).Type
		}
	}
	return fields
}
