package standalone

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"strings"

	"github.com/rocketd/rocketd/admin"
	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/vfs"
)

// maxSeedFile bounds the list of what was sent, bytes.
const maxSeedFile = 16 << 20

// seeds sends the messages of the configuration, each once for each data directory: config/seedMessages.json below the store remembers
// which. An equal message that stands twice is sent twice.
type seeds struct {
	fs   vfs.FS
	path string
	sent map[string]int // how often a message of this sum was sent
}

// seed sends what was not sent yet.
func (s *Standalone) seed(ctx context.Context, o Options) error {
	if len(s.config.Rocketd.Messages) == 0 || s.broker == nil {
		return nil
	}
	state := seeds{fs: o.FS, path: path.Join(s.config.Store.StorePathRootDir, "config", "seedMessages.json"), sent: map[string]int{}}
	if err := state.load(); err != nil {
		return err
	}
	addr := s.broker.Addr()
	if addr.Addr().IsUnspecified() {
		addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), addr.Port())
	}
	a := admin.New(admin.Options{Broker: addr.String(), Clock: o.Clock})
	defer a.Close()
	seen := map[string]int{}
	sent := 0
	for i := range s.config.Rocketd.Messages {
		m := &s.config.Rocketd.Messages[i]
		sum, err := sumOf(m)
		if err != nil {
			return err
		}
		if seen[sum]++; seen[sum] <= state.sent[sum] {
			continue
		}
		if err := send(ctx, a, m); err != nil {
			return errors.Join(fmt.Errorf("message %d of the configuration, for the topic %s, cannot be sent: %w", i+1, m.Topic, err), state.save())
		}
		state.sent[sum]++
		sent++
	}
	if sent == 0 {
		return nil
	}
	o.Log.WithField("messages", sent).Info("messages of the configuration sent")
	return state.save()
}

func send(ctx context.Context, a *admin.Admin, m *conf.MessageSpec) error {
	s, err := a.Sender(ctx, m.Topic)
	if err != nil {
		return err
	}
	req := admin.SendRequest{
		Topic: m.Topic, Body: []byte(m.Body), Tags: m.Tags, Keys: strings.Fields(m.Keys), Properties: m.Properties, Delay: m.DelayTime(), Queue: -1,
	}
	if m.Queue != nil {
		req.Queue = *m.Queue
	}
	_, err = s.Send(ctx, req)
	return err
}

func sumOf(m *conf.MessageSpec) (string, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

func (s *seeds) load() (err error) {
	file, err := s.fs.OpenFile(s.path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Size()
	if err != nil {
		return err
	}
	if size > maxSeedFile {
		return fmt.Errorf("%s has %d bytes, more than %d", s.path, size, maxSeedFile)
	}
	text := make([]byte, size)
	if _, err := file.ReadAt(text, 0); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &s.sent); err != nil {
		return fmt.Errorf("%s, the list of messages that were sent, cannot be read: %w; remove it to send them again", s.path, err)
	}
	return nil
}

// save replaces the list.
func (s *seeds) save() error {
	text, err := json.Marshal(s.sent)
	if err != nil {
		return err
	}
	dir, temporary := path.Dir(s.path), s.path+".tmp"
	if err := s.fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := s.write(temporary, text); err != nil {
		return err
	}
	if err := s.fs.Rename(temporary, s.path); err != nil {
		return err
	}
	return s.fs.SyncDir(dir)
}

func (s *seeds) write(name string, text []byte) (err error) {
	file, err := s.fs.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.WriteAt(text, 0); err != nil {
		return err
	}
	return file.Sync()
}
