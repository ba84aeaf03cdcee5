package remoting

// Unfinished frames may take half of ServerOptions.InboundLimit, so that requests which are complete always have the other
// half. Over it the connection whose frame has grown least recently goes: one that holds memory and sends nothing, or
// little, before one that is sending.

// unfinishedLimit bounds the bytes of unfinished frames over all connections.
func (s *Server) unfinishedLimit() int64 { return s.opts.InboundLimit / 2 }

// count notes that the connection's unfinished frame takes held bytes now.
func (l *Loop) count(c *Conn, held int64) {
	grown := held - c.charged
	c.charged = held
	l.unfinished += grown
	l.unfinishedNow.Store(l.unfinished)
	l.server.unfinished.Add(grown)
}

// charge counts the memory of c's unfinished frame after bytes for it came. The reason is why c must close, "" when it need
// not.
func (l *Loop) charge(c *Conn) (reason string) {
	held := int64(c.cutter.held())
	if held == 0 && c.charged == 0 {
		return ""
	}
	l.growth++
	c.grown = l.growth
	grew := held > c.charged
	l.count(c, held)
	if !grew {
		return ""
	}
	return l.relieve(c)
}

// relieve closes connections with unfinished frames until all loops' are within the bound or this loop's are within half of
// its share; then the other loop that holds most goes on with it. current is the connection that is being served: only
// when nobody else can go it must, and its caller closes it for the reason returned.
func (l *Loop) relieve(current *Conn) (reason string) {
	s := l.server
	limit, loops := s.unfinishedLimit(), *s.loopList.Load()
	share := limit / int64(2*len(loops))
	over := func() bool { return s.unfinished.Load() > limit }
	why := func() string {
		return frameErrorf("unfinished frames hold %d bytes, the limit is half of InboundLimit %d, and this one has not grown for longest",
			s.unfinished.Load(), s.opts.InboundLimit).Error()
	}
	for l.unfinished > share && over() {
		c := l.leastGrown(current)
		if c == nil {
			break
		}
		c.closing = why()
		s.logClose(c)
		l.shut(c)
	}
	if !over() {
		return ""
	}
	var most *Loop
	for _, other := range loops {
		if other != l && (most == nil || other.unfinishedNow.Load() > most.unfinishedNow.Load()) {
			most = other
		}
	}
	if most == nil || most.unfinishedNow.Load() <= share {
		return why()
	}
	if !most.relieving.Swap(true) {
		most.post(mail{run: func() {
			most.relieving.Store(false)
			most.relieve(nil)
		}})
	}
	return ""
}

// leastGrown is the connection of this loop, other than current, whose unfinished frame has not grown for longest.
func (l *Loop) leastGrown(current *Conn) *Conn {
	var oldest *Conn
	for c := range l.conns {
		if c != current && c.charged > 0 && c.closing == "" && (oldest == nil || c.grown < oldest.grown) {
			oldest = c
		}
	}
	return oldest
}
