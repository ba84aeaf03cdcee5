package main

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-clients/golang/v5"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: ENDPOINT PREFIX [story ...]")
		os.Exit(2)
	}
	rocketmq.EnableSsl = false
	rocketmq.ResetLogger()
	var wait sync.WaitGroup
	var out sync.Mutex
	for name, story := range stories {
		if only := os.Args[3:]; len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		wait.Go(func() {
			f := &facts{seen: map[string]string{}}
			s := &session{endpoint: os.Args[1], prefix: os.Args[2], name: name, exact: os.Getenv("EXACT") == "true"}
			begin := time.Now()
			if err := story(s, f); err != nil {
				f.must(false, "%v", err)
			}
			out.Lock()
			fmt.Println(f.result(name))
			out.Unlock()
			fmt.Fprintln(os.Stderr, name, time.Since(begin).Round(time.Millisecond))
			s.stop()
		})
	}
	wait.Wait()
}
