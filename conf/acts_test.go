package conf

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// elsewhere are keys whose fields this package reads for others (paths, addresses), so that no other room names them.
var elsewhere = map[string]bool{
	"DataDir": true, "Host": true, "ConfigBlackList": true, "StorePathCommitLog": true,
}

// TestKeysThatAct compares the keys that are said to have an effect with the fields that the other rooms read.
func TestKeysThatAct(t *testing.T) {
	read := make(map[string]bool)
	for name := range fieldsRead(t, "..") {
		read[name] = true
	}
	c := Default()
	for _, group := range []any{&c.Rocketd, &c.Broker, &c.Store, &c.Server, &c.Client, &c.Namesrv} {
		fields := make(map[any]string)
		v := reflect.ValueOf(group).Elem()
		for i := range v.NumField() {
			fields[v.Field(i).Addr().Interface()] = v.Type().Field(i).Name
		}
		for _, k := range c.rows() {
			field, ok := fields[pointer(k.value)]
			if !ok {
				continue
			}
			if used := read[field] || elsewhere[field]; used != k.acts {
				t.Errorf("%s: said to have an effect: %v, %s.%s is read by another room: %v", k.qualified(), k.acts, v.Type().Name(), field, used)
			}
		}
	}
}

func pointer(v value) any {
	switch v := v.(type) {
	case *stringValue:
		return v.p
	case *intValue[int32]:
		return v.p
	case *intValue[int64]:
		return v.p
	case *floatValue:
		return v.p
	case *boolValue:
		return v.p
	case *topicsValue:
		return v.p
	case *groupsValue:
		return v.p
	case *messagesValue:
		return v.p
	default:
		return nil
	}
}

// fieldsRead collects the names behind dots in the code of all other rooms.
func fieldsRead(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "conf" || d.Name() == "integration" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				names[s.Sel.Name] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
