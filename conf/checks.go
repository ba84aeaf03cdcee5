package conf

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// notYet refuses true for a switch whose meaning rocketd cannot fulfil; doing as if would be worse.
func notYet(reason string) rule {
	return func(k *key) {
		k.check = func(text string) error {
			if text == "true" {
				return errors.New(reason + "; only false is possible")
			}
			return nil
		}
	}
}

// only names the texts that are possible as yet, and why the reference's others are not.
func only(reason string, texts ...string) rule {
	return func(k *key) {
		k.check = func(text string) error {
			if !slices.Contains(texts, text) {
				return fmt.Errorf("%s; possible is %s", reason, strings.Join(texts, " and "))
			}
			return nil
		}
	}
}

// checkAddresses accepts HOST:PORT;HOST:PORT and the reference's endpoint form http://HOST.
func checkAddresses(text string) error {
	for _, addr := range SplitAddresses(text) {
		if strings.HasPrefix(addr, "http://") || strings.HasPrefix(addr, "https://") {
			continue
		}
		host, port, err := net.SplitHostPort(addr)
		if err != nil || host == "" {
			return fmt.Errorf("%q is not HOST:PORT", addr)
		}
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("%q has no port within 1 to 65535", addr)
		}
	}
	return nil
}

// SplitAddresses cuts a list of addresses at semicolons (and commas); blanks and empty parts are dropped.
func SplitAddresses(text string) []string {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == ',' || r == ' ' })
	return slices.Compact(parts)
}

// checkAdvertise accepts HOST and HOST:PORT.
func checkAdvertise(text string) error {
	if text == "" {
		return nil
	}
	host, port := splitAdvertise(text)
	if host == "" || strings.ContainsAny(host, "/ ;,@") {
		return fmt.Errorf("%q is not HOST or HOST:PORT", text)
	}
	if port == "" {
		return nil
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%q has no port within 1 to 65535", text)
	}
	return nil
}

// splitAdvertise cuts HOST[:PORT]; an IPv6 address with a port must be in brackets.
func splitAdvertise(text string) (host, port string) {
	if strings.Count(text, ":") > 1 && !strings.HasPrefix(text, "[") {
		return text, ""
	}
	if h, p, err := net.SplitHostPort(text); err == nil {
		return h, p
	}
	return strings.Trim(text, "[]"), ""
}

// checkHours accepts hours of the day, such as 04 or 02;14.
func checkHours(text string) error {
	for _, part := range strings.Split(text, ";") {
		if n, err := strconv.Atoi(part); err != nil || n < 0 || n > 23 || len(part) > 2 {
			return fmt.Errorf("%q is not an hour within 00 to 23", part)
		}
	}
	return nil
}

// checkDelayLevels accepts what ScheduleMessageService.parseDelayLevel does: numbers with s, m, h or d.
func checkDelayLevels(text string) error {
	levels := strings.Fields(text)
	if len(levels) == 0 {
		return errors.New("names no level")
	}
	if len(levels) > 1000 {
		return fmt.Errorf("names %d levels, more than 1000", len(levels))
	}
	for i, level := range levels {
		unit := level[len(level)-1]
		n, err := strconv.ParseInt(level[:len(level)-1], 10, 32)
		if err != nil || n < 0 || !strings.ContainsRune("smhd", rune(unit)) {
			return fmt.Errorf("level %d is %q, not a number with s, m, h or d", i+1, level)
		}
	}
	return nil
}
