package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
)

var errNotJSON = errors.New("not JSON")

// looseJSON reads JSON in fastjson's dialect, with bare and object keys, and returns it with sorted, quoted keys and
// sorted lists (most are sets): two texts that mean the same become equal.
func looseJSON(s string) (string, error) {
	v, rest, err := looseValue(strings.TrimSpace(s))
	if err != nil || strings.TrimSpace(rest) != "" {
		return "", errNotJSON
	}
	text, err := json.Marshal(v)
	return string(text), err
}

func looseValue(s string) (any, string, error) {
	s = strings.TrimLeft(s, " \t\r\n")
	if s == "" {
		return nil, "", errNotJSON
	}
	switch s[0] {
	case '{':
		return looseObject(s[1:])
	case '[':
		return looseList(s[1:])
	case '"':
		return looseString(s)
	}
	end := strings.IndexAny(s, ",:]} \t\r\n")
	if end < 0 {
		end = len(s)
	}
	word := s[:end]
	var v any
	if err := json.Unmarshal([]byte(word), &v); err != nil {
		return nil, "", errNotJSON
	}
	if _, number := v.(float64); number {
		v = json.Number(word)
	}
	return v, s[end:], nil
}

func looseString(s string) (any, string, error) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			var v string
			if err := json.Unmarshal([]byte(s[:i+1]), &v); err != nil {
				return nil, "", errNotJSON
			}
			return v, s[i+1:], nil
		}
	}
	return nil, "", errNotJSON
}

func looseObject(s string) (any, string, error) {
	object := map[string]any{}
	for {
		s = strings.TrimLeft(s, " \t\r\n,")
		if s == "" {
			return nil, "", errNotJSON
		}
		if s[0] == '}' {
			return object, s[1:], nil
		}
		key, rest, err := looseValue(s)
		if err != nil {
			return nil, "", err
		}
		rest = strings.TrimLeft(rest, " \t\r\n")
		if !strings.HasPrefix(rest, ":") {
			return nil, "", errNotJSON
		}
		name, isText := key.(string)
		if !isText {
			text, err := json.Marshal(key)
			if err != nil {
				return nil, "", err
			}
			name = string(text)
		}
		object[name], s, err = looseValue(rest[1:])
		if err != nil {
			return nil, "", err
		}
	}
}

func looseList(s string) (any, string, error) {
	list := []any{}
	for {
		s = strings.TrimLeft(s, " \t\r\n,")
		if s == "" {
			return nil, "", errNotJSON
		}
		if s[0] == ']' {
			sort.Slice(list, func(i, j int) bool { return fmt.Sprint(list[i]) < fmt.Sprint(list[j]) })
			return list, s[1:], nil
		}
		v, rest, err := looseValue(s)
		if err != nil {
			return nil, "", err
		}
		list, s = append(list, v), rest
	}
}
