package conf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// maxSeeds bounds the messages of the key messages.
const maxSeeds = 10_000

// MessageSpec is a message to send at start, once for each data directory. As text: a JSON array of objects with these members.
type MessageSpec struct {
	Topic string `json:"topic"`
	Body  string `json:"body"`
	Tags  string `json:"tags,omitempty"`
	Keys  string `json:"keys,omitempty"` // separated by blanks
	// Queue is the queue's number; nil: any.
	Queue *int32 `json:"queue,omitempty"`
	// Delay is how much later it is delivered, as 10m or 1h30m; empty: at once.
	Delay      string            `json:"delay,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`
}

// DelayTime is Delay; 0 when it is empty.
func (m *MessageSpec) DelayTime() time.Duration {
	d, err := time.ParseDuration(m.Delay)
	if err != nil {
		return 0 // empty: the rest was refused when it was read
	}
	return d
}

func (m *MessageSpec) check() error {
	switch d, err := time.ParseDuration(m.Delay); {
	case m.Topic == "":
		return errors.New("has no topic")
	case m.Body == "":
		return errors.New("has no body")
	case m.Queue != nil && *m.Queue < 0:
		return fmt.Errorf("queue %d is negative", *m.Queue)
	case m.Delay != "" && (err != nil || d <= 0):
		return fmt.Errorf("delay %q is no span such as 10s, 5m or 1h30m", m.Delay)
	}
	for name, value := range m.Properties {
		if name == "" || strings.ContainsAny(name+value, "\x01\x02") {
			return fmt.Errorf("property %q has no name, or a character that divides properties", name)
		}
	}
	return nil
}

// ParseMessages reads messages from text, as the key messages has it.
func ParseMessages(text string) ([]MessageSpec, error) {
	var messages []MessageSpec
	err := (&messagesValue{&messages}).set(text)
	return messages, err
}

type messagesValue struct{ p *[]MessageSpec }

func (v *messagesValue) kind() string { return "list of messages" }
func (v *messagesValue) reset()       { *v.p = nil }

func (v *messagesValue) text() string {
	if len(*v.p) == 0 {
		return ""
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(*v.p); err != nil {
		return "" // strings and numbers can always be encoded
	}
	return strings.TrimSpace(out.String())
}

func (v *messagesValue) set(text string) error {
	if text = strings.TrimSpace(text); text == "" {
		*v.p = nil
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	var list []MessageSpec
	if err := d.Decode(&list); err != nil {
		return fmt.Errorf("is no list of messages: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("is more than one list of messages")
	}
	if len(list) > maxSeeds {
		return fmt.Errorf("%d messages are more than %d", len(list), maxSeeds)
	}
	for i := range list {
		if err := list[i].check(); err != nil {
			return fmt.Errorf("message %d %w", i+1, err)
		}
	}
	*v.p = slices.Clip(list)
	return nil
}
