// Package console serves what people and their tools look at over HTTP: the web page, the JSON API that it stands on
// (docs/openapi.yaml), Prometheus metrics under the reference's names, and /healthz and /readyz.
//
// It shows and never decides: everything is asked of the broker and the name server of the same process when a request comes, and
// messages are sent through the broker's own port, so that a test message meets the same checks as any other.
//
// # Parts
//
//	Console     listener, request table
//	guard       who may ask: host names, origins of changes, headers
//	Warnings    the newest warnings of the log, a logrus hook
//	exporter    metrics, collected at each scrape
//	assets/     the page: plain HTML, CSS and JavaScript, and uPlot (MIT) for the plots
//
// # Safety
//
// It listens on the loopback address unless told otherwise. A request must name this server by an IP address, localhost or a configured name,
// so that a web page cannot read it through a name of its own that it points here. A change must come from the page's own origin with
// a header that no form can send. There are no users: whoever reaches the port can read messages.
//
// # Bounds
//
// Pages of at most 200 messages or 1000 names, bodies of 1 MiB in requests and 64 KiB shown, 500 warnings, metricsOtelCardinalityLimit label sets
// of a metric, 64 requests at a time.
//
// # Concurrency
//
// All is safe for concurrent use. Requests run on net/http's goroutines; Close waits for them and for the listener's.
package console
