package broker

// putTimer adds how far the timer is.
func (b *Broker) putTimer(table map[string]string, set func(string, int64)) {}

// timerIsBeyond tells whether the timer has delivered everything that was due at a time.
func (r *reviver) timerIsBeyond(ms int64) bool { return true }
