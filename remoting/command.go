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

// Command is one remoting command, a request or a response, as it stands in one frame.
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
	// Release, when set on a command to be sent, is called once the body's bytes are no longer needed.
	Release func()
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
