package brokertest

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Server is one of the two servers.
type Server uint8

// The servers.
const (
	Namesrv Server = iota
	BrokerServer
)

// String is "namesrv" or "broker".
func (s Server) String() string {
	if s == Namesrv {
		return "namesrv"
	}
	return "broker"
}

// Request is one request on the wire, as rules and the journal see it. What a client left out is empty.
type Request struct {
	Server Server
	// ByServer: the broker sent it to a client, as CHECK_TRANSACTION_STATE and NOTIFY_CONSUMER_IDS_CHANGED.
	ByServer bool
	Code     int32
	Name     string // of Code
	Oneway   bool
	Opaque   int32
	Version  string // of the sender, as V4_9_8
	Language string // of the sender, as JAVA
	Conn     uint64
	Remote   netip.AddrPort
	// ClientID is what the connection's client called itself in its first heartbeat, or in this request. Clients do not tell it to name
	// servers.
	ClientID string
	Topic    string
	// Groups are the producer and consumer groups that the request names: one, or all of a heartbeat.
	Groups []string
	// Fields are the ext fields.
	Fields []remoting.ExtField
	// N is the number of this request among those that its rule matches by code, client, topic, group and server, from 1. It is 0 in the
	// journal.
	N int64
	// Body is there within a rule's function only and must not be changed or kept.
	Body []byte

	cmd *remoting.Command // within a rule's function
}

// Group is the first of Groups, or "".
func (r *Request) Group() string {
	if len(r.Groups) == 0 {
		return ""
	}
	return r.Groups[0]
}

// Field is the value of an ext field, "" when it is not there.
func (r *Request) Field(name string) string {
	for i := len(r.Fields) - 1; i >= 0; i-- {
		if r.Fields[i].Key == name {
			return r.Fields[i].Value
		}
	}
	return ""
}

// Decode reads the request's custom header, as the broker does. Within a rule's function only.
func (r *Request) Decode(h remoting.Header) error {
	if send, ok := h.(*remoting.SendMessageRequestHeader); ok {
		return r.cmd.DecodeSend(send)
	}
	return r.cmd.Decode(h)
}

// Command is the request itself. Within a rule's function only; it must not be changed or kept.
func (r *Request) Command() *remoting.Command { return r.cmd }

// describe makes a Request of a command. Nothing of it but Body and cmd aliases the frame.
func describe(s Server, c *remoting.Conn, cmd *remoting.Command, clientID string) *Request {
	r := &Request{
		Server: s, Code: cmd.Code, Name: remoting.RequestName(cmd.Code), Oneway: cmd.IsOneway(), Opaque: cmd.Opaque,
		Version: remoting.VersionName(cmd.Version), Language: cmd.Language.String(), Conn: c.ID(), Remote: c.RemoteAddr(),
		ClientID: clientID, Fields: cloneFields(cmd.Ext), Body: cmd.Body, cmd: cmd,
	}
	for _, f := range r.Fields {
		switch f.Key {
		case "topic":
			r.Topic = f.Value
		case "b":
			if cmd.Code == remoting.SendMessageV2 || cmd.Code == remoting.SendBatchMessage || cmd.Code == remoting.SendReplyMessageV2 {
				r.Topic = f.Value
			}
		case "a":
			if cmd.Code == remoting.SendMessageV2 || cmd.Code == remoting.SendBatchMessage || cmd.Code == remoting.SendReplyMessageV2 {
				r.addGroup(f.Value)
			}
		case "consumerGroup", "producerGroup", "group":
			r.addGroup(f.Value)
		case "clientID", "clientId":
			r.ClientID = f.Value
		}
	}
	r.readBody()
	return r
}

func (r *Request) addGroup(name string) {
	if name != "" && !slices.Contains(r.Groups, name) {
		r.Groups = append(r.Groups, name)
	}
}

// readBody takes client and groups from the bodies that have them.
func (r *Request) readBody() {
	switch r.Code {
	case remoting.HeartBeat:
		beat, err := body.Decode[body.HeartbeatData](r.Body)
		if err != nil {
			return // the broker says so to the client
		}
		r.ClientID = beat.ClientID
		for _, c := range beat.ConsumerDataSet {
			r.addGroup(c.GroupName)
		}
		for _, p := range beat.ProducerDataSet {
			r.addGroup(p.GroupName)
		}
	case remoting.LockBatchMQ, remoting.UnlockBatchMQ:
		lock, err := body.Decode[body.LockBatchRequest](r.Body)
		if err != nil {
			return
		}
		r.ClientID = lock.ClientID
		r.addGroup(lock.ConsumerGroup)
	}
}

// cloneFields copies fields out of a frame with two allocations.
func cloneFields(fields []remoting.ExtField) []remoting.ExtField {
	if len(fields) == 0 {
		return nil
	}
	size := 0
	for _, f := range fields {
		size += len(f.Key) + len(f.Value)
	}
	var text strings.Builder
	text.Grow(size)
	for _, f := range fields {
		text.WriteString(f.Key)
		text.WriteString(f.Value)
	}
	rest := text.String()
	out := make([]remoting.ExtField, len(fields))
	for i, f := range fields {
		k, v := len(f.Key), len(f.Key)+len(f.Value)
		out[i] = remoting.ExtField{Key: rest[:k], Value: rest[k:v]}
		rest = rest[v:]
	}
	return out
}
