package remoting

// Run has fn called on the connection's event loop, soon and in the order of the calls. What fn answers by ReplyInTurn leaves with the other
// answers of that moment. fn must not block, as a handler on the loop; a panic is logged. It is false when the loop has stopped, and then fn
// is not called. Whether the connection is still open is for fn to see.
func (c *Conn) Run(fn func()) bool { return c.loop.post(mail{conn: c, run: fn}) }
