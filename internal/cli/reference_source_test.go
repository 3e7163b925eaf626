package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// constant is a constant of a Go file, with the comment behind it.
type constant struct{ name, value, comment string }

// constants returns the exported constants of a Go file that have the given type. An empty type
// means constants that are texts without a type.
func constants(t *testing.T, file, typeName string) (found []constant) {
	t.Helper()
	f := parsed(t, file)
	for _, decl := range f.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		last := "" // a constant without a value has the type of the one before it
		for _, spec := range d.Specs {
			s := spec.(*ast.ValueSpec)
			if id, ok := s.Type.(*ast.Ident); ok {
				last = id.Name
			} else if len(s.Values) > 0 {
				last = ""
			}
			c := constant{name: s.Names[0].Name, comment: strings.TrimSpace(s.Comment.Text())}
			if len(s.Values) > 0 {
				if lit, ok := s.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					c.value, _ = strconv.Unquote(lit.Value)
				}
			}
			if last == typeName && ast.IsExported(c.name) && (typeName != "" || c.value != "") {
				found = append(found, c)
			}
		}
	}
	if len(found) == 0 {
		t.Errorf("%s has no constants of type %q", file, typeName)
	}
	return found
}

var yamlTag = regexp.MustCompile(`yaml:"([^",]+)`)

// yamlTags returns the names in the yaml tags of all structs of a Go file, without repetitions.
func yamlTags(t *testing.T, file string) (tags []string) {
	t.Helper()
	ast.Inspect(parsed(t, file), func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Tag != nil {
			if m := yamlTag.FindStringSubmatch(field.Tag.Value); m != nil && !slices.Contains(tags, m[1]) {
				tags = append(tags, m[1])
			}
		}
		return true
	})
	if len(tags) == 0 {
		t.Errorf("%s has no yaml tags", file)
	}
	return tags
}

// mapValues returns the values of the map of texts that a Go file declares as the given variable.
func mapValues(t *testing.T, file, variable string) (values []string) {
	t.Helper()
	ast.Inspect(parsed(t, file), func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != variable || len(spec.Values) == 0 {
			return true
		}
		for _, element := range spec.Values[0].(*ast.CompositeLit).Elts {
			value, err := strconv.Unquote(element.(*ast.KeyValueExpr).Value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return false
	})
	if len(values) == 0 {
		t.Errorf("%s has no map %s", file, variable)
	}
	return values
}

// textsInCode returns all texts in the Go files below internal that match the pattern, without
// tests. Each is there once, with one file that has it.
func textsInCode(t *testing.T, pattern *regexp.Regexp) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		ast.Inspect(parsed(t, file), func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && pattern.MatchString(text) {
					found[text] = file
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func parsed(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
