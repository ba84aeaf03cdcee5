package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// adminParts is the state of the handlers that adminRoutes lists: transactions, pop, assignment, configuration version.
type adminParts struct {
	transactions *transactions
	pop          *pop
	modes        *requestModes

	routesOfCluster *clusterRoutes

	configMu sync.Mutex
	configDV body.DataVersion // of the configuration; guarded by configMu
}

// adminRoutes joins the request tables of administration, queries, transactions, request-reply and pop.
func (b *Broker) adminRoutes() []remoting.Route {
	return slices.Concat(
		b.messageQueryRoutes(),
		b.topicAdminRoutes(),
		b.groupAdminRoutes(),
		b.consumerAdminRoutes(),
		b.offsetAdminRoutes(),
		b.configAdminRoutes(),
		b.haAdminRoutes(),
		b.relayRoutes(),
		b.transactionRoutes(),
		b.replyRoutes(),
		b.recallRoutes(),
		b.assignmentRoutes(),
		b.popRoutes(),
	)
}

// buildAdmin makes the parts; nothing runs yet. The tables must be there.
func (b *Broker) buildAdmin() {
	b.transactions = newTransactions(b)
	b.pop = newPop(b)
	b.modes = newRequestModes(b.files, b.log)
	b.routesOfCluster = newClusterRoutes(b)
	b.arrivals = append(b.arrivals, b.transactions.arrived, b.pop.arrived)
	b.stats.runtime.timer = func() (enqueued, delivered int64) {
		s := b.timer.Stats() // open before anything is sampled
		return s.Enqueued, s.Delivered
	}
}

// saveConfig writes changes into brokerConfigPath.
func (b *Broker) saveConfig(c *conf.Config, changes []conf.Property) error {
	path := c.Broker.BrokerConfigPath
	old, err := vfs.ReadFile(b.fs, path, maxStateFileBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read configuration: %w", err)
	}
	text, err := c.EditBrokerFile(old, changes)
	if err != nil {
		return err
	}
	return vfs.WriteFileAtomic(b.fs, path, text)
}

// changeConfig changes configuration keys and saves them; an error leaves everything as it was.
func (b *Broker) changeConfig(changes []conf.Property) error {
	err := b.updateConfig(func(c *conf.Config) (*conf.Config, error) {
		next, err := c.UpdateBroker(changes)
		if err != nil || next.Broker.BrokerConfigPath == "" {
			return next, err
		}
		return next, b.saveConfig(next, changes)
	})
	if err != nil {
		return err
	}
	b.configMu.Lock()
	defer b.configMu.Unlock()
	b.configDV.NextVersion(b.clock.NowMs(), 0)
	return nil
}

// configVersion is the version of the configuration: it moves on with each change while the broker runs.
func (b *Broker) configVersion() body.DataVersion {
	b.configMu.Lock()
	defer b.configMu.Unlock()
	if b.configDV.Timestamp == 0 {
		b.configDV.Timestamp = b.bootMs
	}
	return b.configDV
}
