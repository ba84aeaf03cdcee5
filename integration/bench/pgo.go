package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
)

// profileSeconds is how long each row is watched.
const profileSeconds = 8

// profile measures rows on rocketd again and again while its CPU profile is taken, and joins the profiles in one file, which the compiler
// takes as advice on what is worth inlining and how calls usually go. Each row counts by the CPU that it takes in that time.
func profile(o options, to string) error {
	h := &measure.Host{}
	defer h.Close()
	dir, err := os.MkdirTemp("", "rocketd-profiles")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var parts []string
	for _, g := range allGroups() {
		var t *target
		for _, r := range allRows() {
			if r.group != g.name || r.alone != nil || r.unit != "" || r.long || !o.only(r) || g.name == "java" {
				continue
			}
			if t == nil {
				if t, err = startTarget(h, sideRocketd, o, append([]string{"httpPprof=true"}, g.settings...), g.prepare); err != nil {
					return err
				}
			}
			part := filepath.Join(dir, fmt.Sprint(len(parts)))
			if err := profileRow(t, r, part); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			parts = append(parts, part)
		}
		h.Close()
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", append([]string{"tool", "pprof", "-proto"}, parts...)...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Run(); err != nil {
		_ = out.Close()
		return fmt.Errorf("go tool pprof: %w", err)
	}
	return out.Close()
}

// profileRow runs a row until the profile is there.
func profileRow(t *target, r row, to string) error {
	taken := make(chan error, 1)
	go func() {
		taken <- fetch(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", t.cluster.HTTP, profileSeconds), to)
	}()
	for {
		var f figures
		err := measure.Attempt(func() (err error) { f, err = r.run(t); return err })
		report(0, t.side, r, f, err, results{})
		select {
		case failed := <-taken:
			return failed
		default:
		}
		if err != nil {
			<-taken
			return err
		}
	}
}

func fetch(url, to string) error {
	c := http.Client{Timeout: 3 * profileSeconds * time.Second}
	resp, err := c.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := f.ReadFrom(resp.Body); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
