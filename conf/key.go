package conf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Section is the part of the configuration that a key belongs to.
type Section string

// The sections; see the package comment.
const (
	SectionRocketd Section = "rocketd"
	SectionBroker  Section = "broker"
	SectionNamesrv Section = "namesrv"
)

// value is one typed field that can be read and written as text.
type value interface {
	text() string
	set(text string) error
	reset()
	kind() string
}

// key is one row of a struct's key list, bound to the field of one Config.
type key struct {
	section Section
	name    string
	value   value
	// acts says that rocketd does something with the key; the others are accepted for the reference's sake.
	acts bool
	// nullable says that the reference's class leaves the field null: it is not printed while it is empty.
	nullable bool
	check    func(text string) error
}

func (k *key) qualified() string { return string(k.section) + "." + k.name }

// named tells whether name is KEY or SECTION.KEY of k.
func (k *key) named(name string) bool {
	if k.name == name {
		return true
	}
	rest, ok := strings.CutPrefix(name, string(k.section))
	return ok && rest != "" && rest[0] == '.' && rest[1:] == k.name
}

// setText writes a value after checking it; the field keeps its old value when that fails.
func (k *key) setText(text string) error {
	old := k.value.text()
	if err := k.value.set(text); err != nil {
		return err
	}
	if k.check == nil {
		return nil
	}
	if err := k.check(k.value.text()); err != nil {
		if restore := k.value.set(old); restore != nil {
			return restore
		}
		return err
	}
	return nil
}

// keySet collects the rows of the key lists.
type keySet struct {
	section Section
	cpus    int32 // some of the reference's defaults follow the number of processors
	keys    []key
}

// rule is a property of a row.
type rule func(*key)

func (k *keySet) add(name string, v value, rules []rule) {
	row := key{section: k.section, name: name, value: v}
	for _, r := range rules {
		r(&row)
	}
	k.keys = append(k.keys, row)
}

func (k *keySet) str(name string, p *string, def string, rules ...rule) {
	k.add(name, &stringValue{p, def}, rules)
}

func (k *keySet) i32(name string, p *int32, def int32, rules ...rule) {
	k.add(name, &intValue[int32]{p, def, 32}, rules)
}

func (k *keySet) i64(name string, p *int64, def int64, rules ...rule) {
	k.add(name, &intValue[int64]{p, def, 64}, rules)
}

func (k *keySet) f64(name string, p *float64, def float64, rules ...rule) {
	k.add(name, &floatValue{p, def}, rules)
}

func (k *keySet) boolean(name string, p *bool, def bool, rules ...rule) {
	k.add(name, &boolValue{p, def}, rules)
}

// acts marks a key that rocketd acts on.
func acts(k *key) { k.acts = true }

// null marks a key that the reference leaves null by default.
func null(k *key) { k.nullable = true }

// between bounds a number, both ends included.
func between(lo, hi int64) rule {
	return func(k *key) {
		k.check = func(text string) error {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return err
			}
			if n < lo || n > hi {
				return fmt.Errorf("%d is outside %d to %d", n, lo, hi)
			}
			return nil
		}
	}
}

// atLeast bounds a number from below.
func atLeast(lo int64) rule {
	return func(k *key) {
		k.check = func(text string) error {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return err
			}
			if n < lo {
				return fmt.Errorf("%d is less than %d", n, lo)
			}
			return nil
		}
	}
}

// oneOf lists the texts that a key may have.
func oneOf(texts ...string) rule {
	return func(k *key) {
		k.check = func(text string) error {
			for _, t := range texts {
				if text == t {
					return nil
				}
			}
			return fmt.Errorf("%q is none of %s", text, strings.Join(texts, ", "))
		}
	}
}

// valid gives a key a check of its own.
func valid(check func(text string) error) rule {
	return func(k *key) { k.check = check }
}

type stringValue struct {
	p   *string
	def string
}

func (v *stringValue) text() string { return *v.p }
func (v *stringValue) reset()       { *v.p = v.def }
func (v *stringValue) kind() string { return "text" }
func (v *stringValue) set(text string) error {
	*v.p = strings.TrimSpace(text)
	return nil
}

type intValue[T int32 | int64] struct {
	p    *T
	def  T
	bits int
}

func (v *intValue[T]) text() string { return strconv.FormatInt(int64(*v.p), 10) }
func (v *intValue[T]) reset()       { *v.p = v.def }
func (v *intValue[T]) kind() string { return "whole number" }
func (v *intValue[T]) set(text string) error {
	text = strings.TrimSpace(text)
	n, err := strconv.ParseInt(text, 10, v.bits)
	switch {
	case err == nil:
		*v.p = T(n)
		return nil
	case isRangeError(err):
		lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
		if v.bits == 32 {
			lo, hi = math.MinInt32, math.MaxInt32
		}
		return fmt.Errorf("%s is outside %d to %d", text, lo, hi)
	default:
		return fmt.Errorf("%q is not a whole number", text)
	}
}

type floatValue struct {
	p   *float64
	def float64
}

func (v *floatValue) text() string { return formatDouble(*v.p) }
func (v *floatValue) reset()       { *v.p = v.def }
func (v *floatValue) kind() string { return "number" }
func (v *floatValue) set(text string) error {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%q is not a number", text)
	}
	*v.p = f
	return nil
}

type boolValue struct {
	p   *bool
	def bool
}

func (v *boolValue) text() string { return strconv.FormatBool(*v.p) }
func (v *boolValue) reset()       { *v.p = v.def }
func (v *boolValue) kind() string { return "true or false" }
func (v *boolValue) set(text string) error {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true":
		*v.p = true
	case "false":
		*v.p = false
	default:
		return fmt.Errorf("%q is neither true nor false", text)
	}
	return nil
}

// formatDouble prints a number as Double.toString does for the magnitudes that configuration holds.
func formatDouble(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
