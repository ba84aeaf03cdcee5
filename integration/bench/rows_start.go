package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/remoting"
)

// startRows measure from the start of the broker's process to its first SEND_OK.
func startRows() []row {
	rows := []row{{name: "start, empty store, to the first SEND_OK", target: "<= 50", alone: startEmpty}}
	for _, gb := range []float64{1, 10} {
		var killed map[string]float64 // by side
		rows = append(rows, row{
			name: fmt.Sprintf("start after being stopped, %g GB, to the first SEND_OK", gb), long: gb > 1,
			alone: func(h *measure.Host, side string, o options) (figures, error) {
				stopped, afterKill, err := restart(h, side, o, gb)
				if killed == nil {
					killed = map[string]float64{}
				}
				killed[side] = afterKill
				return single(stopped), err
			},
		}, row{
			name: fmt.Sprintf("start after being killed, %g GB, to the first SEND_OK", gb), long: gb > 1,
			alone: func(_ *measure.Host, side string, _ options) (figures, error) {
				ms, ok := killed[side]
				if !ok {
					return figures{}, errSkipped
				}
				return single(ms), nil
			},
		})
	}
	for i := range rows {
		rows[i].unit, rows[i].once, rows[i].group = "ms", true, "start"
	}
	return rows
}

// launch is a broker that this program starts itself, to see every millisecond.
type launch struct {
	addr string
	cmd  *exec.Cmd
}

func (l *launch) stop(signal os.Signal) error {
	_ = l.cmd.Process.Signal(signal)
	done := make(chan struct{})
	go func() { _ = l.cmd.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-time.After(60 * time.Second):
		_ = l.cmd.Process.Kill()
		<-done
		return fmt.Errorf("the broker did not end within a minute of %v", signal)
	}
}

func startEmpty(h *measure.Host, side string, o options) (figures, error) {
	dir := h.TempDir()
	namesrv := startNamesrv(h, side)
	best := -1.0
	for i := range 2 { // the first one reads the program from the disk
		l, ms, err := startToFirstSend(h, side, filepath.Join(dir, strconv.Itoa(i)), namesrv)
		if err != nil {
			return figures{}, err
		}
		if err := l.stop(syscall.SIGTERM); err != nil {
			return figures{}, err
		}
		if best < 0 || ms < best {
			best = ms
		}
	}
	return single(best), nil
}

// restart fills a store and measures the start after a stop, and after a kill.
func restart(h *measure.Host, side string, o options, gb float64) (stopped, killed float64, err error) {
	dir := h.TempDir()
	namesrv := startNamesrv(h, side)
	l, _, err := startToFirstSend(h, side, dir, namesrv)
	if err != nil {
		return 0, 0, err
	}
	h.Cleanup(func() { _ = l.cmd.Process.Kill() })
	if err := fillBytes(&target{addr: l.addr, o: o}, "fill", int64(gb*(1<<30))); err != nil {
		return 0, 0, err
	}
	if err := l.stop(syscall.SIGTERM); err != nil {
		return 0, 0, err
	}
	if l, stopped, err = startToFirstSend(h, side, dir, namesrv); err != nil {
		return 0, 0, err
	}
	if err := l.stop(syscall.SIGKILL); err != nil {
		return 0, 0, err
	}
	if l, killed, err = startToFirstSend(h, side, dir, namesrv); err != nil {
		return 0, 0, err
	}
	return stopped, killed, l.stop(syscall.SIGKILL)
}

// startNamesrv starts the name server that Apache's broker needs; ours has one in its process.
func startNamesrv(h *measure.Host, side string) string {
	if side != sideApache {
		return ""
	}
	return peer.StartApacheNamesrv(h, h.TempDir()).Namesrv
}

// startToFirstSend starts a broker and sends to it until a message is stored.
func startToFirstSend(h *measure.Host, side, dir, namesrv string) (*launch, float64, error) {
	port := peer.FreePorts(h)
	l := &launch{addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	home := h.TempDir()
	if side == sideApache {
		conf := filepath.Join(home, "broker.conf")
		text := strings.Join([]string{
			"brokerClusterName=DefaultCluster", "brokerName=broker-a", "brokerId=0", "brokerIP1=127.0.0.1", fmt.Sprintf("listenPort=%d", port),
			"namesrvAddr=" + namesrv, "storePathRootDir=" + dir, "storePathCommitLog=" + filepath.Join(dir, "commitlog"), "brokerRole=ASYNC_MASTER", "flushDiskType=ASYNC_FLUSH",
		}, "\n")
		if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
			return nil, 0, err
		}
		l.cmd = peer.Java(home, peer.ApacheHeap(), "org.apache.rocketmq.broker.BrokerStartup", "-c", conf)
	} else {
		l.cmd = exec.Command(peer.Rocketd(h), "--data", dir, "--host", "127.0.0.1", "--namesrv-port", "0", "--broker-port", strconv.Itoa(port), "--http-port", "-1",
			"--set", "brokerName=broker-a")
	}
	log, err := os.Create(filepath.Join(home, "log"))
	if err != nil {
		return nil, 0, err
	}
	defer log.Close()
	l.cmd.Stdout, l.cmd.Stderr = log, log
	frame := jsonFrame(remoting.SendMessageV2, sendFields("first", 0, properties, false), payload(1024))
	start := time.Now()
	if err := l.cmd.Start(); err != nil {
		return nil, 0, err
	}
	for time.Since(start) < 3*time.Minute {
		if a, err := measure.Ask(l.addr, frame.bytes); err == nil && a.Code == remoting.Success {
			return l, float64(time.Since(start).Microseconds()) / 1000, nil
		}
		time.Sleep(time.Millisecond)
	}
	_ = l.cmd.Process.Kill()
	_ = l.cmd.Wait()
	text, _ := os.ReadFile(log.Name())
	return nil, 0, fmt.Errorf("no SEND_OK within three minutes:\n%.2000s", text)
}
