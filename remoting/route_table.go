package remoting

import "fmt"

// routeTable finds a request code's row.
type routeTable struct {
	low  [1024]*Route // codes below, found without hashing
	high map[int32]*Route
}

func (t *routeTable) fill(routes []Route, lanes int) error {
	t.high = make(map[int32]*Route)
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
			t.low[r.Code] = r
		default:
			t.high[r.Code] = r
		}
	}
	return nil
}

func (t *routeTable) find(code int32) *Route {
	if code >= 0 && int(code) < len(t.low) {
		return t.low[code]
	}
	return t.high[code]
}
