package broker

import "time"

// sentRun are stored sends of a turn that count alike: neighbours to one queue, of one kind and about one size.
type sentRun struct {
	topic    string
	queueID  int32
	kind     kind
	begunMs  int64
	bucket   int // of the histogram of sizes
	requests int64
	messages int64
	bytes    int64
	averages int64 // sum of the requests' mean sizes of a message
}

// countSends counts the stored sends of a turn, runs of them at once: counters are shared by all event loops.
func (b *Broker) countSends(pending []pendingSend, now int64) {
	var run sentRun
	for i := range pending {
		p := &pending[i]
		average := int64(p.size / max(p.count, 1))
		bucket := bucketOf(&sizeBounds, average)
		if run.requests > 0 && (run.queueID != p.putID || run.kind != p.kind || run.begunMs != p.begunMs || run.bucket != bucket || run.topic != p.topic) {
			b.countRun(&run, now)
			run = sentRun{}
		}
		run.topic, run.queueID, run.kind, run.begunMs, run.bucket = p.topic, p.putID, p.kind, p.begunMs, bucket
		run.requests++
		run.messages += int64(p.count)
		run.bytes += int64(p.size)
		run.averages += average
	}
	if run.requests > 0 {
		b.countRun(&run, now)
	}
}

func (b *Broker) countRun(r *sentRun, now int64) {
	b.stats.put(r.topic, r.queueID, r.requests, r.messages, r.bytes, time.Duration(max(0, now-r.begunMs))*time.Millisecond)
	b.stats.traffic.topic(r.topic).sent(r)
}
