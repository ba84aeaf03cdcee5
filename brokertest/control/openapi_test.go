package control

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// description is what the tests read of openapi.yaml.
type description struct {
	Paths      map[string]map[string]yaml.Node `yaml:"paths"`
	Components struct {
		Schemas map[string]struct {
			Properties yaml.Node `yaml:"properties"`
		} `yaml:"schemas"`
	} `yaml:"components"`
}

func readDescription(t *testing.T) *description {
	t.Helper()
	var d description
	if err := yaml.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

func TestEveryRouteIsDescribed(t *testing.T) {
	d := readDescription(t)
	var described, served []string
	for path, methods := range d.Paths {
		for method := range methods {
			if method != "parameters" {
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
	}
	for _, r := range (&Server{}).routes() {
		served = append(served, r.pattern)
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described %v\nserved    %v", described, served)
	}
}

func TestEveryMemberIsDescribed(t *testing.T) {
	d := readDescription(t)
	for _, v := range []any{
		Error{},
		Done{},
		Seen{},
		Status{},
		ClockMove{},
		Names{},
		Message{},
		Messages{},
		Member{},
		Offset{},
		Lock{},
		Group{},
		Transaction{},
		Pending{},
		Answer{},
		Exchange{},
		Journal{},
		Match{},
		Then{},
		Rule{},
		Rules{},
		Action{},
		Acted{},
		GroupCount{},
		TopicCount{},
		Count{},
		RuleCount{},
		ExchangeWait{},
		Wait{},
		Waited{},
	} {
		goType := reflect.TypeOf(v)
		var described, there []string
		properties := d.Components.Schemas[goType.Name()].Properties.Content
		for i := 0; i < len(properties); i += 2 {
			described = append(described, properties[i].Value)
		}
		for i := range goType.NumField() {
			name, _, _ := strings.Cut(goType.Field(i).Tag.Get("json"), ",")
			there = append(there, name)
		}
		slices.Sort(described)
		slices.Sort(there)
		if !slices.Equal(described, there) {
			t.Errorf("%s: described %v, there are %v", goType.Name(), described, there)
		}
	}
	for name := range d.Components.Schemas {
		if !strings.Contains(string(openAPI), fmt.Sprintf(`"#/components/schemas/%s"`, name)) {
			t.Errorf("schema %s is used nowhere", name)
		}
	}
}
