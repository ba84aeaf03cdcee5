package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/replay"
)

func newRecord(p *Process) *cobra.Command {
	var listen, namesrv, server string
	var maxBytes int64
	c := &cobra.Command{
		Use:   "record FILE",
		Short: "Stand in front of a name server and its brokers and record what is said",
		Long: `Listens as the name server does and passes everything on. Routes lead clients to ports of its own, so that what they say to the brokers
is recorded too. FILE is made anew; - is stdout. rocketd replay plays the recording to other servers and compares.

When ready, one line on stderr tells the address for clients. SIGINT or SIGTERM ends the recording.`,
		Example: `  rocketd record --namesrv 10.0.0.1:9876 traffic.rec           clients at 127.0.0.1:9870
  rocketd record --server 10.0.0.2:10911 --listen 127.0.0.1:0 traffic.rec`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return record(p, args[0], replay.RecorderOptions{Listen: listen, Namesrv: namesrv, Server: server, MaxBytes: maxBytes})
		},
	}
	set := c.Flags()
	set.SortFlags = false
	set.StringVar(&listen, "listen", "127.0.0.1:9870", "HOST:PORT for clients, port 0 picks one; ports in front of brokers are on the same host")
	set.StringVar(&namesrv, "namesrv", "", "HOST:PORT of the name server to stand in front of")
	set.StringVar(&server, "server", "", "HOST:PORT of one server to stand in front of instead, without changing routes")
	set.Int64Var(&maxBytes, "max-bytes", 1<<30, "end the recording at this size; what comes is passed on all the same")
	return c
}

func record(p *Process, path string, o replay.RecorderOptions) (err error) {
	out := p.Stdout
	if path != "-" {
		file, err := os.Create(path) //nolint:gosec // the file that the user names
		if err != nil {
			return &failure{code: ExitNotWritable, sentence: fmt.Sprintf("the recording cannot be written: %v", err), err: err}
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	log := logrus.New()
	log.SetOutput(p.Stderr)
	o.Out, o.Log, o.Clock = out, logrus.NewEntry(log), clock.System{}
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	recorder, err := replay.NewRecorder(o)
	if err != nil {
		return recordFailure(err)
	}
	if _, err := fmt.Fprintf(p.Stderr, "ready namesrv=%s\n", recorder.Addr()); err != nil {
		return errors.Join(&failure{code: ExitFailure, sentence: err.Error(), err: err}, recorder.Close())
	}
	<-ctx.Done()
	if err := recorder.Close(); err != nil {
		return &failure{code: ExitFailure, sentence: err.Error(), err: err}
	}
	return nil
}

func recordFailure(err error) error {
	code := ExitUsage
	var network *net.OpError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		code = ExitPortTaken
	case errors.As(err, &network):
		code = ExitAddress
	}
	return &failure{code: code, sentence: err.Error(), err: err}
}
