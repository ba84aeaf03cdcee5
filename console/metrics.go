package console

import (
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// exporter serves the metrics. Nothing of it exists before the first scrape, and all values are read at each.
type exporter struct {
	c       *Console
	once    sync.Once
	handler http.Handler
	labels  prometheus.Labels // of every metric of the reference
	descs   sync.Map          // by name and label names: *prometheus.Desc
}

func (e *exporter) init(c *Console) { e.c = c }

// ServeHTTP answers a scrape.
func (e *exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.once.Do(func() {
		registry := prometheus.NewRegistry()
		registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), e)
		e.labels = e.constLabels()
		e.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	})
	e.handler.ServeHTTP(w, r)
}

// constLabels are those that the reference puts on everything (BrokerMetricsManager#init).
func (e *exporter) constLabels() prometheus.Labels {
	b := &e.c.o.Config.Broker
	labels := prometheus.Labels{
		"cluster": b.BrokerClusterName, "node_type": "broker", "node_id": b.BrokerName, "otel_scope_name": "broker-meter",
	}
	for pair := range strings.SplitSeq(b.MetricsLabel, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), ":")
		if ok && validLabel(name) && !strings.Contains(value, ":") {
			if _, taken := labels[name]; !taken {
				labels[name] = value
			}
		}
	}
	return labels
}

func validLabel(name string) bool {
	for i, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != "" && !strings.HasPrefix(name, "__")
}

// Describe says nothing: what there is depends on topics and groups.
func (e *exporter) Describe(chan<- *prometheus.Desc) {}

// Collect reads everything.
func (e *exporter) Collect(out chan<- prometheus.Metric) {
	s := &scrape{e: e, out: out, limit: int(e.c.o.Config.Broker.MetricsOtelCardinalityLimit), sets: map[string]int{}}
	if e.c.o.Broker != nil {
		s.broker(e.c.o.Broker)
	}
	if ns := e.c.o.Namesrv; ns != nil {
		s.listener("namesrv", ns.Stats())
	}
	_, warnings := e.c.o.Warnings.newest()
	s.own("rocketd_log_warnings_total", "Lines of the log of level warning and above.", prometheus.CounterValue, float64(warnings))
	s.own("rocketd_metrics_dropped_label_sets", "Label sets left out of this scrape: metricsOtelCardinalityLimit.", prometheus.GaugeValue, float64(s.dropped))
}

// scrape is one collection.
type scrape struct {
	e       *exporter
	out     chan<- prometheus.Metric
	limit   int
	sets    map[string]int // label sets by metric
	dropped int
}

// pairs are names and values of labels, by turns.
type pairs []string

func (s *scrape) desc(name, help string, labels pairs, constant prometheus.Labels) (*prometheus.Desc, []string) {
	names, values := make([]string, 0, 4), make([]string, 0, 4)
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, strings.ToValidUTF8(labels[i+1], "?"))
	}
	key := name + "\x00" + strings.Join(names, "\x00")
	if kept, ok := s.e.descs.Load(key); ok {
		if d, ok := kept.(*prometheus.Desc); ok {
			return d, values
		}
	}
	d := prometheus.NewDesc(name, help, names, constant)
	s.e.descs.Store(key, d)
	return d, values
}

// admit counts label sets and tells whether there is room for one more.
func (s *scrape) admit(name string) bool {
	if s.sets[name] >= s.limit {
		s.dropped++
		return false
	}
	s.sets[name]++
	return true
}

// gauge and counter are metrics of the reference's names.
func (s *scrape) gauge(name, help string, value float64, labels ...string) {
	s.add(name, help, prometheus.GaugeValue, value, labels, s.e.labels)
}

func (s *scrape) counter(name, help string, value float64, labels ...string) {
	s.add(name, help, prometheus.CounterValue, value, labels, s.e.labels)
}

// own is a metric of rocketd's own.
func (s *scrape) own(name, help string, t prometheus.ValueType, value float64, labels ...string) {
	s.add(name, help, t, value, labels, nil)
}

func (s *scrape) add(name, help string, t prometheus.ValueType, value float64, labels pairs, constant prometheus.Labels) {
	if !s.admit(name) {
		return
	}
	desc, values := s.desc(name, help, labels, constant)
	m, err := prometheus.NewConstMetric(desc, t, value, values...)
	if err != nil {
		m = prometheus.NewInvalidMetric(desc, err)
	}
	s.out <- m
}

// histogram adds counts by upper bounds.
func (s *scrape) histogram(name, help string, constant prometheus.Labels, count int64, sum float64, bounds []float64, atMost []int64, labels ...string) {
	if !s.admit(name) {
		return
	}
	buckets := make(map[float64]uint64, len(bounds))
	for i, bound := range bounds {
		buckets[bound] = uint64(max(0, atMost[i]))
	}
	desc, values := s.desc(name, help, labels, constant)
	m, err := prometheus.NewConstHistogram(desc, uint64(max(0, count)), sum, buckets, values...)
	if err != nil {
		m = prometheus.NewInvalidMetric(desc, err)
	}
	s.out <- m
}
