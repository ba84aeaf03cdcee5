package console

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// changeHeader must be sent with every change. Browsers send it to another origin only after asking, which is never granted.
const changeHeader = "X-Rocketd-Console"

// maxRequestBody bounds what a request may carry, bytes.
const maxRequestBody = 1 << 20

// limit serves a bounded number of requests at a time.
func (c *Console) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case c.slots <- struct{}{}:
			defer func() { <-c.slots }()
			next.ServeHTTP(w, r)
		default:
			fail(w, http.StatusServiceUnavailable, "64 requests are being served, try again")
		}
	})
}

// guard lets those requests through that may come.
func (c *Console) guard(next http.Handler) http.Handler {
	return c.limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !c.knownHost(r.Host) {
			fail(w, http.StatusForbidden, "host name "+quoted(hostOf(r.Host))+" is not one of this server's: httpNames lists those that are taken")
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			if reason := c.refuseChange(r); reason != "" {
				fail(w, http.StatusForbidden, reason)
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, maxRequestBody)
		}
		next.ServeHTTP(w, r)
	}))
}

// knownHost tells whether a Host header names this server. A page of the web can have any name point here, but none of these.
func (c *Console) knownHost(header string) bool {
	host := strings.TrimSuffix(strings.ToLower(hostOf(header)), ".")
	if host == "localhost" || strings.EqualFold(host, c.o.Config.Rocketd.HTTPHost) && host != "" {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	for name := range strings.SplitSeq(c.o.Config.Rocketd.HTTPNames, ",") {
		if name = strings.TrimSpace(name); name != "" && strings.EqualFold(name, host) {
			return true
		}
	}
	return false
}

// hostOf takes the port off a Host header.
func hostOf(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		return host
	}
	return strings.Trim(header, "[]")
}

// refuseChange says why a change may not be made, "" when it may.
func (c *Console) refuseChange(r *http.Request) string {
	writes := c.o.Config.Rocketd.HTTPWrites
	switch {
	case writes == "none":
		return "httpWrites is none: nothing can be changed here"
	case writes != "all" && !fromLoopback(r.RemoteAddr):
		return "httpWrites is " + writes + ": changes are taken from this machine alone"
	case r.Header.Get(changeHeader) == "":
		return "the header " + changeHeader + " is missing"
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) {
			return "origin " + quoted(origin) + " is not this server's"
		}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return "the request comes from another site"
	}
	return ""
}

func fromLoopback(remote string) bool {
	addr, err := netip.ParseAddrPort(remote)
	return err == nil && addr.Addr().Unmap().IsLoopback()
}
