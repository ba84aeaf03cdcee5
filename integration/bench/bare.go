package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/panjf2000/gnet/v2" //nolint:depguard // the bare server is measured to see what the event loop itself costs

	"github.com/rocketd/rocketd/integration/measure"
)

// bareServer parses the frame, reads code and opaque, and answers as SEND is answered: the limit of what a server on this
// event loop can do. With a file it also appends each body to it, one write a turn.
type bareServer struct {
	gnet.BuiltinEventEngine
	mu   sync.Mutex
	file *os.File
}

func serveBare(spec string) {
	s := &bareServer{}
	addr := spec
	if rest, ok := strings.CutPrefix(spec, "append:"); ok {
		name, a, _ := strings.Cut(rest, ",")
		f, err := os.Create(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		s.file, addr = f, a
	}
	if err := gnet.Run(s, "tcp://"+addr, gnet.WithNumEventLoop(2), gnet.WithTCPNoDelay(gnet.TCPNoDelay)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (s *bareServer) OnBoot(gnet.Engine) gnet.Action {
	fmt.Println("ready")
	return gnet.None
}

func (s *bareServer) OnTraffic(c gnet.Conn) gnet.Action {
	b, _ := c.Peek(-1)
	var out, record []byte
	used := 0
	for len(b)-used >= 8 {
		frame := b[used:]
		n := int(binary.BigEndian.Uint32(frame)) + 4
		if len(frame) < n {
			break
		}
		a := measure.ParseAnswer(frame[4:n])
		out = appendBareAnswer(out, a.Binary, a.Opaque)
		if s.file != nil {
			record = append(record, a.Body...)
		}
		used += n
	}
	if len(record) > 0 {
		s.mu.Lock()
		if _, err := s.file.Write(record); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		s.mu.Unlock()
	}
	if used > 0 { // Discard takes 0 for everything
		_, _ = c.Discard(used)
		_, _ = c.Write(out)
	}
	return gnet.None
}

// bareFields are those of a send's answer.
const bareFields = `"MSG_REGION":"DefaultRegion","TRACE_ON":"true","msgId":"7F00000100002A9F0000000000000064","queueId":"0","queueOffset":"1","transactionId":"0A0A0A0A00000000000000000000000A"`

func appendBareAnswer(out []byte, isBinary bool, opaque int) []byte {
	if isBinary {
		out = binary.BigEndian.AppendUint32(out, 4+21)
		out = binary.BigEndian.AppendUint32(out, 21|1<<24)
		out = append(out, 0, 0, 0, 2, 1)
		out = binary.BigEndian.AppendUint32(out, uint32(opaque))
		out = binary.BigEndian.AppendUint32(out, 1)
		return append(out, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	at := len(out)
	out = append(out, 0, 0, 0, 0, 0, 0, 0, 0)
	out = append(out, `{"code":0,"extFields":{`...)
	out = append(out, bareFields...)
	out = append(out, `},"flag":1,"language":"GO","opaque":`...)
	out = fmt.Appendf(out, "%d", opaque)
	out = append(out, `,"serializeTypeCurrentRPC":"JSON","version":513}`...)
	binary.BigEndian.PutUint32(out[at:], uint32(len(out)-at-4))
	binary.BigEndian.PutUint32(out[at+4:], uint32(len(out)-at-8))
	return out
}
