package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
)

// process is the running binary.
type process struct {
	cmd             *exec.Cmd
	namesrv, broker string
	stderr          *bytes.Buffer
	took            time.Duration // from exec to ready
}

func (o *options) start(dir string, ports [2]int) (*process, error) {
	args := []string{
		"--data", dir, "--host", "127.0.0.1", "--namesrv-port", strconv.Itoa(ports[0]), "--broker-port", strconv.Itoa(ports[1]), "--http-port", "-1",
		"--set", "brokerName=broker-a",
	}
	p := &process{cmd: exec.Command(o.binary, args...), stderr: &bytes.Buffer{}}
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		p.took = time.Since(begun)
		for field := range strings.FieldsSeq(lines.Text()) {
			if v, ok := strings.CutPrefix(field, "namesrv="); ok {
				p.namesrv = v
			}
			if v, ok := strings.CutPrefix(field, "broker="); ok {
				p.broker = v
			}
		}
		if p.broker != "" {
			return p, nil
		}
	}
	err = p.cmd.Wait()
	return nil, fmt.Errorf("the binary ended before it was ready: %w\n%s", err, p.stderr)
}

// end sends a signal and waits for the end.
func (p *process) end(signal syscall.Signal) (time.Duration, error) {
	begun := time.Now()
	if err := p.cmd.Process.Signal(signal); err != nil {
		return 0, err
	}
	err := p.cmd.Wait()
	took := time.Since(begun)
	if signal == syscall.SIGTERM && err != nil {
		return took, fmt.Errorf("stop: %w\n%s", err, p.stderr)
	}
	return took, nil
}

// anonymousMB is the process's memory that is not page cache.
func (p *process) anonymousMB() float64 { return measure.AnonymousMB(p.cmd.Process.Pid) }
