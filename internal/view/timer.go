package view

// Slot is what falls due in one stretch of time.
type Slot struct {
	StartMs int64 `json:"startMs"`
	Timers  int64 `json:"timers"`
	Delays  int64 `json:"delays"`
}

// Lateness counts what was delivered at most Ms late, and later than the class before; Ms -1: the rest.
type Lateness struct {
	Ms    int64 `json:"ms"`
	Count int64 `json:"count"`
}

// TopicCount is a topic and what waits for it.
type TopicCount struct {
	Topic string `json:"topic"`
	Count int64  `json:"count"`
}

// PendingTimer is one timer, or cancel of one, that waits.
type PendingTimer struct {
	DueMs      int64  `json:"dueMs"`    // when it is wanted
	LeavesMs   int64  `json:"leavesMs"` // when it leaves its slot of the wheel: earlier than dueMs when it rolls
	EnqueuedMs int64  `json:"enqueuedMs"`
	Topic      string `json:"topic"` // where it goes; empty: its record cannot be read
	Queue      int32  `json:"queue"`
	UniqueKey  string `json:"uniqueKey"`
	Tags       string `json:"tags"`
	Keys       string `json:"keys"`
	Cancels    string `json:"cancels"` // the unique key of the timer that it takes away; empty: it is a timer
	Rolls      bool   `json:"rolls"`
	Size       int32  `json:"size"`
	ID         string `json:"id"` // of the message that waits
}

// PendingAnswer is a page of pending timers, those that leave their slots first first.
type PendingAnswer struct {
	NowMs  int64          `json:"nowMs"`
	Timers []PendingTimer `json:"timers"`
	Next   string         `json:"next"` // parameter after of the next page; empty: this is the last one
}
