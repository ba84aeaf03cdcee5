package brokertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/rocketd/rocketd/broker"
	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/standalone"
)

// Stop stops the broker in order, as SIGTERM does: it leaves the name server, drains, flushes and closes. The name server goes on. It
// returns nil when the broker is stopped already.
func (b *Broker) Stop(ctx context.Context) error {
	b.lifeMu.Lock()
	defer b.lifeMu.Unlock()
	running := b.take(BrokerServer)
	if running == nil {
		return nil
	}
	return running.Close(ctx)
}

// Resume starts the broker that Stop, Kill or PowerLoss ended, on the same address and with what is on its disk. While another process has
// taken the port meanwhile it tries again, until ctx ends. It returns nil when the broker is running.
func (b *Broker) Resume(ctx context.Context) error {
	b.lifeMu.Lock()
	defer b.lifeMu.Unlock()
	if b.now() != nil {
		return nil
	}
	b.wire[BrokerServer].revive()
	o := standalone.Options{
		Config: b.config.Load(), Role: conf.RoleBroker, Log: b.log, Clock: b.clk, FS: b.Disk(),
		NameServers: []broker.NameServer{b.link}, BrokerAddrs: []string{b.addr(BrokerServer)}, Watcher: b.wire[BrokerServer],
	}
	running, err := b.startOn(ctx, BrokerServer, o)
	if err != nil {
		return fmt.Errorf("brokertest: %w", err)
	}
	port := running.Broker().Addr().Port()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broker, b.client = running, remoting.NewClient(remoting.ClientOptions{Log: b.log})
	b.addrs[BrokerServer] = net.JoinHostPort(b.config.Load().Server.BindAddress, strconv.Itoa(int(port)))
	return nil
}

// Restart is Stop and Resume.
func (b *Broker) Restart(ctx context.Context) error {
	if err := b.Stop(ctx); err != nil {
		return err
	}
	return b.Resume(ctx)
}

// Advertise restarts the broker, and clients are told a new HOST or HOST:PORT to reach it at: for containers, whose port outside is known
// only when they run.
func (b *Broker) Advertise(ctx context.Context, addr string) error {
	o := *b.options
	o.advertise = addr
	config, err := o.config()
	if err != nil {
		return err
	}
	if err := b.Stop(ctx); err != nil {
		return err
	}
	b.config.Store(config)
	return b.Resume(ctx)
}

// Kill ends the broker as kill -9 does: nothing is answered, nothing is flushed or saved any more, connections close. What it had written
// is there after Resume, also what was not synced; consumer offsets are those that it had saved last.
func (b *Broker) Kill() error {
	return b.crash(func(m *vfs.Mem) *vfs.Mem { return m.Clone() })
}

// PowerLoss ends the broker as a crash of its machine does: what was synced is there after Resume, and of the rest a part that seed
// chooses. It needs a store in memory.
func (b *Broker) PowerLoss(seed uint64) error {
	if b.options.dir != "" {
		return errors.New("brokertest: PowerLoss needs a store in memory, this one is in " + b.options.dir)
	}
	return b.crash(func(m *vfs.Mem) *vfs.Mem { return m.CrashClone(seed) })
}

func (b *Broker) crash(leave func(*vfs.Mem) *vfs.Mem) error {
	b.lifeMu.Lock()
	defer b.lifeMu.Unlock()
	running := b.take(BrokerServer)
	if running == nil {
		return ErrStopped
	}
	b.wire[BrokerServer].die()
	b.Disk().Crash()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_ = running.Close(over) // everything fails, as it must
	b.mu.Lock()
	defer b.mu.Unlock()
	var files vfs.FS = vfs.OS{}
	if b.mem != nil {
		b.mem = leave(b.mem)
		files = b.mem
	}
	b.disk = vfs.NewFault(files)
	return nil
}

// StopNamesrv stops the name server: clients can not connect to it. The broker goes on. It returns nil when it is stopped already.
func (b *Broker) StopNamesrv(ctx context.Context) error {
	b.lifeMu.Lock()
	defer b.lifeMu.Unlock()
	running := b.take(Namesrv)
	if running == nil {
		return nil
	}
	b.link.set(nil)
	return running.Close(ctx)
}

// ResumeNamesrv starts the name server again on the same address; the broker registers with it at once.
func (b *Broker) ResumeNamesrv(ctx context.Context) error {
	b.lifeMu.Lock()
	defer b.lifeMu.Unlock()
	b.mu.Lock()
	up := b.namesrv != nil
	b.mu.Unlock()
	if up {
		return nil
	}
	b.wire[Namesrv].revive()
	running, err := b.startOn(ctx, Namesrv, standalone.Options{
		Config: b.config.Load(), Role: conf.RoleNamesrv, Log: b.log, Clock: b.clk, FS: b.namesrvFiles(),
		NamesrvAddrs: []string{b.addr(Namesrv)}, Watcher: b.wire[Namesrv],
	})
	if err != nil {
		return fmt.Errorf("brokertest: %w", err)
	}
	b.link.set(running.Namesrv())
	port := running.Namesrv().Addr().Port()
	b.mu.Lock()
	b.namesrv = running
	b.addrs[Namesrv] = net.JoinHostPort(b.config.Load().NamesrvServer.BindAddress, strconv.Itoa(int(port)))
	b.mu.Unlock()
	if now := b.now(); now != nil {
		now.RegisterNow()
	}
	return nil
}

// Reset ends all faults, forgets the journal and deletes what is stored: topics, groups, offsets and messages are as after Start, and what was
// stopped runs again. Clients stay; they see a broker that restarts. The clock is left alone. It needs a store in memory.
func (b *Broker) Reset(ctx context.Context) error {
	if b.options.dir != "" {
		return errors.New("brokertest: Reset needs a store in memory, this one is in " + b.options.dir)
	}
	b.Heal()
	err := errors.Join(b.Stop(ctx), b.StopNamesrv(ctx))
	b.mu.Lock()
	b.mem, b.nameFiles, b.queues = b.newMem(), b.newMem(), nil
	b.disk = vfs.NewFault(b.mem)
	b.mu.Unlock()
	err = errors.Join(err, b.ResumeNamesrv(ctx), b.Resume(ctx))
	b.ClearJournal()
	if err == nil && len(b.options.seeds) > 0 {
		_, err = b.Send(ctx, b.options.seeds...)
	}
	return err
}

// newMem is an empty file system on the broker's clock.
func (b *Broker) newMem() *vfs.Mem {
	m := vfs.NewMem()
	m.SetNow(b.clk.Now)
	return m
}

// take is what runs of a server, which the caller is to close; nil when nothing does.
func (b *Broker) take(s Server) *standalone.Standalone {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s == Namesrv {
		out := b.namesrv
		b.namesrv = nil
		return out
	}
	if b.client != nil {
		b.client.Close() // a connection of it would end with the broker
	}
	out := b.broker
	b.broker, b.client = nil, nil
	return out
}

// startOn starts. When the server ran before and another process has taken its port meanwhile, it waits for that.
func (b *Broker) startOn(ctx context.Context, s Server, o standalone.Options) (*standalone.Standalone, error) {
	for {
		running, err := standalone.Start(ctx, o)
		if err == nil {
			b.ran[s] = true
			return running, nil
		}
		if !b.ran[s] || ctx.Done() == nil || !errors.Is(err, remoting.ErrPortTaken) {
			return nil, err
		}
		if werr := poll(ctx, func() bool { return portFree(ctx, slicesOr(o.NamesrvAddrs, o.BrokerAddrs)) }); werr != nil {
			return nil, errors.Join(err, werr)
		}
	}
}

func slicesOr(a, b []string) string { return append(a[:len(a):len(a)], b...)[0] }

func portFree(ctx context.Context, addr string) bool {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	return ln.Close() == nil
}

// nameLink is the name server of the same process as the broker registers with it, whichever runs now.
type nameLink struct {
	mu sync.Mutex
	to broker.NameServer // nil while the name server is stopped; guarded by mu
}

// set changes the name server; nil for none.
func (l *nameLink) set(to broker.NameServer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = to
}

func (l *nameLink) get() broker.NameServer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to
}

// RegisterBroker registers with the name server that runs; without one nothing happens.
func (l *nameLink) RegisterBroker(h *remoting.RegisterBrokerRequestHeader, b *body.RegisterBrokerBody) (map[string]string, error) {
	if to := l.get(); to != nil {
		return to.RegisterBroker(h, b)
	}
	return nil, nil
}

// RegisterTopics registers topics with the name server that runs.
func (l *nameLink) RegisterTopics(h *remoting.RegisterBrokerRequestHeader, b *body.RegisterBrokerBody) error {
	if to := l.get(); to != nil {
		return to.RegisterTopics(h, b)
	}
	return nil
}

// UnregisterBroker leaves the name server that runs.
func (l *nameLink) UnregisterBroker(h *remoting.UnregisterBrokerRequestHeader) {
	if to := l.get(); to != nil {
		to.UnregisterBroker(h)
	}
}
