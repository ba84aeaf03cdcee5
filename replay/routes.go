package replay

import (
	"bytes"
	"sync"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// routeWatch puts the recorder's addresses into what a name server tells on one connection.
type routeWatch struct {
	recorder *Recorder
	active   bool // it is a name server's connection

	mu    sync.Mutex
	asked map[int32]int32 // opaque to request code, of the questions that routes answer; guarded by mu
}

// maxAsked bounds the questions of one connection that wait for an answer.
const maxAsked = 10_000

func newRouteWatch(r *Recorder, active bool) *routeWatch {
	return &routeWatch{recorder: r, active: active, asked: map[int32]int32{}}
}

// sent sees a client's frame.
func (w *routeWatch) sent(frame []byte) []byte {
	if !w.active {
		return frame
	}
	var cmd remoting.Command
	if err := remoting.DecodeFrame(frame, &cmd); err != nil || cmd.IsResponse() {
		return frame
	}
	if cmd.Code == remoting.GetRouteinfoByTopic || cmd.Code == remoting.GetBrokerClusterInfo {
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.asked) < maxAsked {
			w.asked[cmd.Opaque] = cmd.Code
		}
	}
	return frame
}

// got sees the name server's frame and gives what the client is to get.
func (w *routeWatch) got(frame []byte) []byte {
	if !w.active {
		return frame
	}
	var cmd remoting.Command
	if err := remoting.DecodeFrame(frame, &cmd); err != nil || !cmd.IsResponse() || cmd.Code != remoting.Success {
		return frame
	}
	w.mu.Lock()
	code := w.asked[cmd.Opaque]
	delete(w.asked, cmd.Opaque)
	w.mu.Unlock()
	var changed []byte
	switch code {
	case remoting.GetRouteinfoByTopic:
		route, err := body.Decode[body.TopicRouteData](cmd.Body)
		if err != nil {
			return frame
		}
		for i := range route.BrokerDatas {
			w.lead(&route.BrokerDatas[i])
		}
		changed = encodeLike(cmd.Body, route)
	case remoting.GetBrokerClusterInfo:
		info, err := body.Decode[body.ClusterInfo](cmd.Body)
		if err != nil {
			return frame
		}
		for name, broker := range info.Brokers {
			w.lead(&broker)
			info.Brokers[name] = broker
		}
		changed = encodeLike(cmd.Body, info)
	default:
		return frame
	}
	cmd.Body = changed
	return remoting.AppendFrame(nil, &cmd)
}

// encodeLike writes a body with its numeric keys quoted as they were.
func encodeLike(was []byte, b body.Body) []byte {
	if bytes.Contains(was, []byte(`"brokerAddrs":{"`)) {
		return body.Encode(b)
	}
	return body.EncodeBare(b)
}

// lead puts fronts in place of a broker's addresses. An address whose front cannot be opened is left as it is.
func (w *routeWatch) lead(b *body.BrokerData) {
	for id, addr := range b.BrokerAddrs {
		front, err := w.recorder.frontOf(b.BrokerName, addr)
		if err != nil {
			w.recorder.o.Log.WithError(err).WithField("broker", addr).Warn("clients reach this broker past the recorder")
			continue
		}
		b.BrokerAddrs[id] = front
	}
}
