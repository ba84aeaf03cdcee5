package remoting

import "fmt"

// routeTable finds a request code's row.
type routeTable struct {
	low  [1024]*row // codes below, found without hashing
	high map[int32]*row
}

// row is a route and its place among latencies, from 1.
type row struct {
	*Route
	slot int32
}

func (t *routeTable) fill(routes []Route, lanes int) error {
	t.high = make(map[int32]*row)
	for i := range routes {
		r := &routes[i]
		switch {
		case t.find(r.Code) != nil:
			return fmt.Errorf("remoting: request code %d has two rows", r.Code)
		case r.Handle == nil:
			return fmt.Errorf("remoting: request code %d has no handler", r.Code)
		case r.Lane < OnLoop || int(r.Lane) > lanes:
			return fmt.Errorf("remoting: request code %d is for lane %d of %d", r.Code, r.Lane, lanes)
		case r.Code >= 0 && int(r.Code) < len(t.low):
			t.low[r.Code] = &row{r, int32(i) + 1}
		default:
			t.high[r.Code] = &row{r, int32(i) + 1}
		}
	}
	return nil
}

func (t *routeTable) find(code int32) *row {
	if code >= 0 && int(code) < len(t.low) {
		return t.low[code]
	}
	return t.high[code]
}
