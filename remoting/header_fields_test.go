package remoting

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func command(kv ...string) *Command {
	c := new(Command)
	for i := 0; i < len(kv); i += 2 {
		c.AddExt(kv[i], kv[i+1])
	}
	return c
}

func TestHeaderErrorsNameTheField(t *testing.T) {
	pull := func(kv ...string) *Command {
		return command(append([]string{
			"consumerGroup", "g", "topic", "t", "queueId", "0", "queueOffset", "0", "maxMsgNums", "32",
			"sysFlag", "0", "commitOffset", "0", "suspendTimeoutMillis", "0", "subVersion", "0",
		}, kv...)...)
	}
	tests := []struct {
		name string
		cmd  *Command
		want HeaderError
	}{
		{"no ext fields at all", command(), HeaderError{Field: "consumerGroup", Rule: ruleMissing}},
		{"first missing field counts", command("consumerGroup", "g", "topic", "t"), HeaderError{Field: "queueId", Rule: ruleMissing}},
		{"text for a number", pull("queueId", "four"), HeaderError{Field: "queueId", Value: "four", Rule: ruleI32}},
		{"empty number", pull("queueId", ""), HeaderError{Field: "queueId", Rule: ruleI32}},
		{"blank around a number", pull("queueId", " 4"), HeaderError{Field: "queueId", Value: " 4", Rule: ruleI32}},
		{"fraction", pull("queueOffset", "1.0"), HeaderError{Field: "queueOffset", Value: "1.0", Rule: ruleI64}},
		{"over 32 bits", pull("sysFlag", "2147483648"), HeaderError{Field: "sysFlag", Value: "2147483648", Rule: ruleI32}},
		{"under 32 bits", pull("sysFlag", "-2147483649"), HeaderError{Field: "sysFlag", Value: "-2147483649", Rule: ruleI32}},
		{"over 64 bits", pull("subVersion", "9223372036854775808"), HeaderError{Field: "subVersion", Value: "9223372036854775808", Rule: ruleI64}},
		{"far over 64 bits", pull("subVersion", strings.Repeat("9", 40)), HeaderError{Field: "subVersion", Value: strings.Repeat("9", 40), Rule: ruleI64}},
		{"sign alone", pull("subVersion", "-"), HeaderError{Field: "subVersion", Value: "-", Rule: ruleI64}},
		{"optional number malformed", pull("maxMsgBytes", "x"), HeaderError{Field: "maxMsgBytes", Value: "x", Rule: ruleI32}},
		{"long value is cut", pull("queueId", strings.Repeat("x", 100)), HeaderError{Field: "queueId", Value: strings.Repeat("x", 64), Rule: ruleI32}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var he *HeaderError
			if err := tt.cmd.Decode(new(PullMessageRequestHeader)); !errors.As(err, &he) || *he != tt.want {
				t.Fatalf("error = %v, want %v", err, &tt.want)
			}
		})
	}
	if got, want := (&HeaderError{Field: "queueId", Value: "four", Rule: ruleI32}).Error(),
		`the custom field <queueId> has value "four": not a whole number from -2147483648 to 2147483647`; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if got, want := (&HeaderError{Field: "topic", Rule: ruleMissing}).Error(),
		`the custom field <topic> is null: the request needs it`; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestHeaderNumbersAndBooleansParseAsJava(t *testing.T) {
	var h GetMaxOffsetRequestHeader
	for value, want := range map[string]int32{"0": 0, "+7": 7, "-1": -1, "007": 7, "2147483647": 2147483647, "-2147483648": -2147483648} {
		if err := command("topic", "t", "queueId", value).Decode(&h); err != nil || h.QueueID != want {
			t.Errorf("%q = %d, %v, want %d", value, h.QueueID, err, want)
		}
	}
	var o GetMaxOffsetResponseHeader
	for value, want := range map[string]int64{"9223372036854775807": 9223372036854775807, "-9223372036854775808": -9223372036854775808} {
		if err := command("offset", value).Decode(&o); err != nil || o.Offset != want {
			t.Errorf("%q = %d, %v, want %d", value, o.Offset, err, want)
		}
	}
	for value, want := range map[string]bool{"true": true, "TRUE": true, "True": true, "false": false, "": false, "1": false, "yes": false, " true": false, "t\x52ue": true} {
		if err := command("topic", "t", "queueId", "0", "committed", value).Decode(&h); err != nil || h.Committed != want {
			t.Errorf("%q = %v, %v, want %v", value, h.Committed, err, want)
		}
	}
}

func TestHeaderAbsentFieldsTakeTheReferenceDefault(t *testing.T) {
	h := GetMaxOffsetRequestHeader{Committed: false}
	if err := command("topic", "t", "queueId", "1").Decode(&h); err != nil || !h.Committed {
		t.Errorf("committed = %v, %v, want true", h.Committed, err)
	}
	r := ResetOffsetRequestHeader{QueueID: 5, IsForce: true, Offset: Some[int64](1)}
	if err := command("topic", "t", "group", "g", "timestamp", "1").Decode(&r); err != nil || r.QueueID != -1 || r.IsForce || r.Offset.Set {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestHeaderEmptyStrings(t *testing.T) {
	c := command("consumerGroup", "")
	if err := c.Decode(new(GetConsumerListByGroupRequestHeader)); err != nil {
		t.Errorf("JSON tells an empty string from null: %v", err)
	}
	c.Serialize = RocketMQ
	if err := c.Decode(new(GetConsumerListByGroupRequestHeader)); err == nil {
		t.Error("ROCKETMQ reads an empty string as null, want an error")
	}
}

// Every header survives both forms with every field set, with keys in any order.
func TestEveryHeaderRoundTrips(t *testing.T) {
	for _, h := range allHeaders() {
		v := reflect.ValueOf(h).Elem()
		t.Run(v.Type().Name(), func(t *testing.T) {
			fill(v)
			for _, form := range []SerializeType{JSON, RocketMQ} {
				c := NewRequest(1, h)
				c.Serialize = form
				got := mustDecode(t, AppendFrame(nil, c))
				for range 2 {
					back := reflect.New(v.Type())
					if err := got.Decode(back.Interface().(Header)); err != nil {
						t.Fatal(err)
					}
					if !reflect.DeepEqual(back.Interface(), h) {
						t.Errorf("form %d\n got %+v\nwant %+v", form, back.Elem(), v)
					}
					for i, j := 0, len(got.Ext)-1; i < j; i, j = i+1, j-1 {
						got.Ext[i], got.Ext[j] = got.Ext[j], got.Ext[i]
					}
				}
				if v.NumField() != len(got.Ext) {
					t.Errorf("%d struct fields, %d on the wire", v.NumField(), len(got.Ext))
				}
			}
		})
	}
}

func fill(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Struct {
			f.FieldByName("Set").SetBool(true)
			f = f.FieldByName("Value")
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString("v" + v.Type().Field(i).Name)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int32, reflect.Int64:
			f.SetInt(int64(-1000 - i))
		default: // lists are left empty
		}
	}
}

func TestRPCFields(t *testing.T) {
	c := command("ns", "N", "nsd", "true", "bname", "b1", "oway", "FALSE", "lo", "true", "n", "not this")
	want := RPCFields{Namespace: "N", Namespaced: Some(true), BrokerName: "b1", Oneway: Some(false), Logical: Some(true)}
	if got := c.RPC(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	c = command("n", "b2")
	c.Code = 310
	if got := c.RPC().BrokerName; got != "b2" {
		t.Errorf("SEND_MESSAGE_V2's n = %q", got)
	}
}

func TestVersionNames(t *testing.T) {
	for v, want := range map[int32]string{
		213: "V4_0_0", 232: "V4_1_0_SNAPSHOT", 317: "V4_5_2", 401: "V4_9_4", 413: "V5_0_0", 479: "V5_3_3",
		513: "V5_5_0", 611: "V5_9_9", 612: "HIGHER_VERSION", 100000: "HIGHER_VERSION", 121: "V3", -1: "V3",
	} {
		if got := VersionName(v); got != want {
			t.Errorf("VersionName(%d) = %s, want %s", v, got, want)
		}
	}
}
