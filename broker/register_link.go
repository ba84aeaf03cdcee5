package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// probeInterval is how often a link asks its name server whether it still knows the broker. A name server that comes back is
// registered with one interval later at most.
const probeInterval = time.Second

// registerLink keeps the broker registered with one external name server. All calls are made by its run, one at a time.
type registerLink struct {
	r      *registrar
	addr   string
	cancel context.CancelFunc
	wake   chan struct{} // capacity 1
	log    *logrus.Entry

	mu      sync.Mutex
	pending map[string]struct{} // topics to be told; guarded by mu
	full    bool                // all topics are to be told; guarded by mu
	asked   uint64              // changes put in; guarded by mu
	told    uint64              // changes that a round has covered; guarded by mu
	round   chan struct{}       // closed at the end of the next round; guarded by mu

	// run only, and unregister after it
	known    bool             // the name server has all topics, as of acked
	acked    body.DataVersion // version it was last told
	nextFull int64            // when forceRegister is due, ms since the epoch
	noProbe  bool             // it does not support QUERY_DATA_VERSION
	failing  bool             // the last round failed
}

func newRegisterLink(r *registrar, addr string, cancel context.CancelFunc) *registerLink {
	return &registerLink{
		r: r, addr: addr, cancel: cancel, wake: make(chan struct{}, 1), log: r.Log.WithField("nameServer", addr),
		pending: make(map[string]struct{}), full: true, asked: 1, round: make(chan struct{}),
	}
}

// changed notes topics to be told.
func (l *registerLink) changed(topics ...string) {
	l.mu.Lock()
	for _, t := range topics {
		l.pending[t] = struct{}{}
	}
	l.mu.Unlock()
	l.ask()
}

// everything notes that all topics are to be told.
func (l *registerLink) everything() {
	l.mu.Lock()
	l.full = true
	l.mu.Unlock()
	l.ask()
}

func (l *registerLink) ask() {
	l.mu.Lock()
	l.asked++
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// settle waits until what has been asked so far has been tried. It is false when ctx or stop ended the wait.
func (l *registerLink) settle(ctx context.Context, stop <-chan struct{}) bool {
	l.mu.Lock()
	target := l.asked
	l.mu.Unlock()
	for {
		l.mu.Lock()
		done, round := l.told >= target, l.round
		l.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-round:
		case <-ctx.Done():
			return false
		case <-stop:
			return false
		}
	}
}

// run is the link's goroutine.
func (l *registerLink) run(ctx context.Context) {
	timer := l.r.Clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-timer.C():
		}
		l.tell(ctx)
		timer.Reset(l.pause())
	}
}

func (l *registerLink) pause() time.Duration {
	if c := &l.r.Config().Broker; c.EnableSlaveActingMaster && c.BrokerHeartbeatInterval > 0 {
		return min(probeInterval, time.Duration(c.BrokerHeartbeatInterval)*time.Millisecond)
	}
	return probeInterval
}

// tell is one round: it brings the name server up to date.
func (l *registerLink) tell(ctx context.Context) {
	l.mu.Lock()
	asked, full, pending := l.asked, l.full, l.pending
	l.full, l.pending = false, make(map[string]struct{})
	l.mu.Unlock()

	err := l.update(ctx, full, pending)
	if err != nil {
		l.known = false // the next round tells everything
	}
	l.report(ctx, err)

	l.mu.Lock()
	l.told = asked
	close(l.round)
	l.round = make(chan struct{})
	l.mu.Unlock()
}

// report logs when a name server is lost or found.
func (l *registerLink) report(ctx context.Context, err error) {
	switch {
	case err != nil && !l.failing && ctx.Err() == nil:
		l.log.WithError(err).Warn("not registered with name server, trying again every second")
	case err == nil && l.failing:
		l.log.Info("registered with name server again")
	}
	l.failing = err != nil
}

func (l *registerLink) update(ctx context.Context, full bool, pending map[string]struct{}) error {
	c := &l.r.Config().Broker
	if full || !l.known || c.ForceRegister && l.r.Clock.NowMs() >= l.nextFull {
		return l.registerAll(ctx)
	}
	if c.EnableSlaveActingMaster && !c.CompatibleWithOldNameSrv {
		if err := l.heartbeat(ctx); err != nil {
			return err
		}
	}
	changed, stored, err := l.probe(ctx)
	switch {
	case err != nil:
		return err
	case stored != l.acked && !l.noProbe:
		return l.registerAll(ctx) // it has forgotten the broker, or somebody else has registered it
	case len(pending) > 0:
		return l.registerTopics(ctx, pending)
	case changed:
		return l.registerAll(ctx)
	}
	return nil
}

// registerAll tells all topics, in pieces when enableSplitRegistration asks for it.
func (l *registerLink) registerAll(ctx context.Context) error {
	topics, version := l.r.Source.snapshot()
	pieces := l.pieces(topics)
	for i, piece := range pieces {
		// A name server takes a changed topic only with a changed version: each piece but the last has one of its own.
		v := version
		v.Counter -= int64(len(pieces) - 1 - i)
		if err := l.register(ctx, piece, v); err != nil {
			return err
		}
	}
	if !l.known {
		l.log.WithField("topics", len(topics)).Info("registered with name server")
	}
	l.known, l.acked = true, version
	l.nextFull = l.r.Clock.NowMs() + l.r.period().Milliseconds()
	return nil
}

func (l *registerLink) pieces(topics map[string]*body.TopicConfig) []map[string]*body.TopicConfig {
	c := &l.r.Config().Broker
	size := int(c.SplitRegistrationSize)
	if !c.EnableSplitRegistration || size < 1 || len(topics) <= size {
		return []map[string]*body.TopicConfig{topics}
	}
	var pieces []map[string]*body.TopicConfig
	var piece map[string]*body.TopicConfig
	for name, t := range topics {
		if len(piece)%size == 0 {
			piece = make(map[string]*body.TopicConfig, size)
			pieces = append(pieces, piece)
		}
		piece[name] = t
	}
	return pieces
}

// registerTopics tells the topics that have changed.
func (l *registerLink) registerTopics(ctx context.Context, names map[string]struct{}) error {
	all, version := l.r.Source.snapshot()
	topics := make(map[string]*body.TopicConfig, len(names))
	for name := range names {
		if t := all[name]; t != nil {
			topics[name] = t
		}
	}
	if len(topics) == 0 {
		return nil // deleted meanwhile; who deletes a topic tells the name servers himself
	}
	if version == l.acked {
		// The version went out before these topics did, and with the same one they would not be taken. The next probe finds the
		// difference and puts it right.
		version.Counter--
	}
	if err := l.register(ctx, topics, version); err != nil {
		return err
	}
	l.acked = version
	return nil
}

func (l *registerLink) register(ctx context.Context, topics map[string]*body.TopicConfig, version body.DataVersion) error {
	cmd := l.r.registerCommand(l.r.registration(topics, version))
	resp, err := l.invoke(ctx, cmd, time.Duration(l.r.Config().Broker.RegisterBrokerTimeoutMills)*time.Millisecond)
	if err != nil {
		return fmt.Errorf("register broker: %w", err)
	}
	if resp.Code != remoting.Success {
		return fmt.Errorf("register broker: code %d: %s", resp.Code, resp.Remark)
	}
	if len(resp.Body) > 0 {
		table, err := body.Decode[body.KVTable](resp.Body)
		if err != nil {
			return fmt.Errorf("register broker: %w", err)
		}
		l.r.markOrder(table.Table)
	}
	return nil
}

// probe asks which version the name server has; this also tells it that the broker is alive.
func (l *registerLink) probe(ctx context.Context) (changed bool, stored body.DataVersion, err error) {
	if l.noProbe {
		return false, body.DataVersion{}, nil
	}
	id, version := l.r.Identity(), l.r.Source.dataVersion()
	cmd := remoting.NewRequest(remoting.QueryDataVersion, &remoting.QueryDataVersionRequestHeader{
		BrokerName: id.name, BrokerAddr: id.address, ClusterName: id.cluster, BrokerID: id.id,
	})
	cmd.Body = body.Encode(&version)
	resp, err := l.invoke(ctx, cmd, time.Duration(l.r.Config().Broker.SendHeartbeatTimeoutMillis)*time.Millisecond)
	if err != nil {
		return false, body.DataVersion{}, fmt.Errorf("query data version: %w", err)
	}
	switch resp.Code {
	case remoting.Success:
	case remoting.RequestCodeNotSupported:
		l.noProbe = true
		return false, body.DataVersion{}, nil
	default:
		return false, body.DataVersion{}, fmt.Errorf("query data version: code %d: %s", resp.Code, resp.Remark)
	}
	if len(resp.Body) == 0 {
		return true, body.DataVersion{}, nil // the broker is unknown there
	}
	got, err := body.Decode[body.DataVersion](resp.Body)
	if err != nil {
		return false, body.DataVersion{}, fmt.Errorf("query data version: %w", err)
	}
	return *got != version, *got, nil
}

func (l *registerLink) heartbeat(ctx context.Context) error {
	id := l.r.Identity()
	cmd := remoting.NewRequest(remoting.BrokerHeartbeat, &remoting.BrokerHeartbeatRequestHeader{
		ClusterName: id.cluster, BrokerAddr: id.address, BrokerName: id.name,
	})
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.r.Config().Broker.SendHeartbeatTimeoutMillis)*time.Millisecond)
	defer cancel()
	if err := l.r.Caller.Oneway(ctx, l.addr, cmd); err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	return nil
}

// unregister takes the broker out of the name server's routes. run has ended.
func (l *registerLink) unregister(ctx context.Context, h *remoting.UnregisterBrokerRequestHeader) {
	resp, err := l.r.Caller.Invoke(ctx, l.addr, remoting.NewRequest(remoting.UnregisterBroker, h))
	if err == nil && resp.Code != remoting.Success {
		err = fmt.Errorf("code %d: %s", resp.Code, resp.Remark)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		l.log.WithError(err).Warn("not unregistered from name server: it notices when the connection closes")
	}
}

func (l *registerLink) invoke(ctx context.Context, cmd *remoting.Command, timeout time.Duration) (*remoting.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return l.r.Caller.Invoke(ctx, l.addr, cmd)
}
