package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/conf"
)

func TestReferenceIsCurrent(t *testing.T) {
	want, err := reference("..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/configuration.md is not what the keys say: run make docs")
	}
}

// A key with effect is documented, with its true default; one without is not.
func TestComments(t *testing.T) {
	comments, err := fieldComments("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range conf.Keys() {
		comment := comments[string(k.Section)+strings.ToLower(k.Name)]
		if k.Acts != (comment != "") {
			t.Errorf("%s.%s: acts %v, comment %q", k.Section, k.Name, k.Acts, comment)
			continue
		}
		if !k.Acts {
			continue
		}
		_, def := split(comment)
		def, _, _ = strings.Cut(def, " (the reference: ")
		if k.Default != "" && k.Name != "listenPort" && !strings.Contains(def, "processors") && def != k.Default {
			t.Errorf("%s.%s: the comment says default %q, it is %q", k.Section, k.Name, def, k.Default)
		}
		if def == "" {
			t.Errorf("%s.%s: the comment names no default: %q", k.Section, k.Name, comment)
		}
	}
}
