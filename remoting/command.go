package remoting

// SerializeType tells how the header of a frame is written (wire.md §1).
type SerializeType uint8

// The two header forms of the protocol.
const (
	JSON     SerializeType = 0
	RocketMQ SerializeType = 1
)

// Flag bits of a command (RemotingCommand).
const (
	flagResponse int32 = 1
	flagOneway   int32 = 2
)

// ExtField is one pair of a command's ext fields. A received one points into the bytes of its frame: it lives as
// long as they do (see Handler).
type ExtField struct {
	Key   string
	Value string
}

// Command is one remoting command, a request or a response, as it stands in one frame. It is not safe for concurrent
// use.
type Command struct {
	Code      int32
	Language  LanguageCode
	Version   int32
	Opaque    int32
	Flag      int32
	Remark    string
	Serialize SerializeType

	// Ext holds the ext fields of a received command; of one to be sent, the pairs to add to those of Header.
	Ext []ExtField
	// Header is the custom header of a command to be sent. It is nil on received commands: use Decode.
	Header Header
	// Body is the body, nil when there is none.
	Body []byte
	// BodyParts is a body to be sent as a vector after Body, without joining it.
	BodyParts [][]byte
	// Release, when set on a command to be sent, is called exactly once when the bytes of Body and BodyParts are no longer
	// needed: they were taken by the socket or the connection has closed. It runs on an event loop. Without it the bytes
	// of an answer given on the loop (returned by an OnLoop handler, ReplyInTurn) must live until the turn ends, all others
	// must never change.
	Release func()

	set fieldSet
	// arena holds the unescaped strings of a received JSON header.
	arena []byte
	// replied says that a Replier was taken from this request.
	replied bool
	// timing is that of a request on a server.
	timing timing
}

// Header is a custom header: a struct whose one field list both decodes and encodes it.
type Header interface {
	fields(f *fieldSet)
}

// Optional is a header field that may be absent.
type Optional[T any] struct {
	Value T
	Set   bool
}

// Some is an Optional that is present.
func Some[T any](v T) Optional[T] { return Optional[T]{Value: v, Set: true} }

// Or is the value, or def when absent.
func (o Optional[T]) Or(def T) T {
	if o.Set {
		return o.Value
	}
	return def
}

// NewRequest makes a request; h may be nil.
func NewRequest(code int32, h Header) *Command {
	return &Command{Code: code, Header: h, Version: CurrentVersion}
}

// NewResponse makes a response. The server fills in what belongs to the request it answers.
func NewResponse(code int32) *Command {
	return &Command{Code: code, Flag: flagResponse, Version: CurrentVersion}
}

// IsResponse tells whether the command answers a request.
func (c *Command) IsResponse() bool { return c.Flag&flagResponse != 0 }

// IsOneway tells whether the sender wants no answer.
func (c *Command) IsOneway() bool { return c.Flag&flagOneway != 0 }

// ExtValue is the value of an ext field, and whether it is there. Of doubled keys the last one counts.
func (c *Command) ExtValue(key string) (string, bool) {
	for i := len(c.Ext) - 1; i >= 0; i-- {
		if c.Ext[i].Key == key {
			return c.Ext[i].Value, true
		}
	}
	return "", false
}

// AddExt adds an ext field to a command to be sent.
func (c *Command) AddExt(key, value string) {
	c.Ext = append(c.Ext, ExtField{Key: key, Value: value})
}

// RPCFields are the ext fields that every request of a 5.x client may carry (RpcRequestHeader, TopicRequestHeader).
type RPCFields struct {
	Namespace  string         // ns
	Namespaced Optional[bool] // nsd
	BrokerName string         // bname, which SEND_MESSAGE_V2 calls n
	Oneway     Optional[bool] // oway
	Logical    Optional[bool] // lo: false skips the rewrite of static topics
}

// RPC reads the fields every request may carry. Its strings alias the command's.
func (c *Command) RPC() RPCFields {
	var r RPCFields
	for i := range c.Ext {
		v := c.Ext[i].Value
		switch c.Ext[i].Key {
		case "ns":
			r.Namespace = v
		case "nsd":
			r.Namespaced = Some(parseBool(v))
		case "bname":
			r.BrokerName = v
		case "oway":
			r.Oneway = Some(parseBool(v))
		case "lo":
			r.Logical = Some(parseBool(v))
		case "n":
			if c.Code == SendMessageV2 || c.Code == SendBatchMessage || c.Code == SendReplyMessageV2 {
				r.BrokerName = v
			}
		}
	}
	return r
}
