package brokertest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
)

// Option changes what Start and New start.
type Option func(*options) error

type options struct {
	dir        string // of the store on disk; "": in memory
	topics     []conf.TopicSpec
	groups     []conf.GroupSpec
	seeds      []Message
	sets       []string // KEY=VALUE
	files      []string
	systemTime bool
	startTime  time.Time // zero: now
	frozen     bool
	host       string
	advertise  string
	namesrv    int // port
	broker     int // port
	log        io.Writer
	journal    int
	version    Version
}

// defaultJournal is how many exchanges the journal keeps.
const defaultJournal = 1000

// WithTopics creates topics: NAME, NAME:QUEUES, or NAME[:QUEUES],FIELD=VALUE with the fields queues, perm, order and type, as in the
// configuration key topics. Without them topics are created when they are first sent to, as the default configuration says.
func WithTopics(specs ...string) Option {
	return func(o *options) error {
		topics, err := conf.ParseTopics(strings.Join(specs, ";"))
		o.topics = append(o.topics, topics...)
		return wrap("WithTopics", err)
	}
}

// WithGroups creates consumer groups and their retry topics: NAME, NAME:RETRY_MAX_TIMES, or with ,FIELD=VALUE as in the configuration key groups.
func WithGroups(specs ...string) Option {
	return func(o *options) error {
		groups, err := conf.ParseGroups(strings.Join(specs, ";"))
		o.groups = append(o.groups, groups...)
		return wrap("WithGroups", err)
	}
}

// WithMessages sends messages before Start returns.
func WithMessages(messages ...Message) Option {
	return func(o *options) error {
		o.seeds = append(o.seeds, messages...)
		return nil
	}
}

// WithConfig sets a configuration key, as the flag --set does: Apache's broker.conf names, or KEY with its section.
func WithConfig(key, value string) Option {
	return func(o *options) error {
		o.sets = append(o.sets, key+"="+value)
		return nil
	}
}

// WithConfigFile reads a configuration file, as the flag --config does.
func WithConfigFile(path string) Option {
	return func(o *options) error {
		o.files = append(o.files, path)
		return nil
	}
}

// WithDir keeps the store in a directory of the machine, for example t.TempDir(), instead of in memory: its files are Apache's.
func WithDir(dir string) Option {
	return func(o *options) error {
		if dir == "" {
			return errors.New("brokertest: WithDir needs a directory")
		}
		o.dir = dir
		return nil
	}
}

// WithTime sets the clock before anything starts. The default is the time of day.
func WithTime(at time.Time) Option {
	return func(o *options) error {
		o.startTime = at
		return nil
	}
}

// WithFrozenClock lets the clock stand still until the test moves it. By default it follows real time from where it stands.
func WithFrozenClock() Option {
	return func(o *options) error {
		o.frozen = true
		return nil
	}
}

// WithSystemClock makes the broker use the machine's clock. Clock can not be moved then.
func WithSystemClock() Option {
	return func(o *options) error {
		o.systemTime = true
		return nil
	}
}

// WithAddress sets what the servers listen on: a host and two ports, 0 for a free one. The default is 127.0.0.1 and free ports.
func WithAddress(host string, namesrvPort, brokerPort int) Option {
	return func(o *options) error {
		o.host, o.namesrv, o.broker = host, namesrvPort, brokerPort
		return nil
	}
}

// WithAdvertise sets the HOST or HOST:PORT that clients are told to reach the broker at, where that is not what it listens on: in a
// container.
func WithAdvertise(addr string) Option {
	return func(o *options) error {
		o.advertise = addr
		return nil
	}
}

// WithLog writes the servers' log.
func WithLog(w io.Writer) Option {
	return func(o *options) error {
		o.log = w
		return nil
	}
}

// WithJournal sets how many exchanges the journal keeps, the oldest go first; 0 keeps none. The default is 1000.
func WithJournal(n int) Option {
	return func(o *options) error {
		if n < 0 || n > maxJournal {
			return fmt.Errorf("brokertest: WithJournal(%d): want 0 to %d", n, maxJournal)
		}
		o.journal = n
		return nil
	}
}

// WithVersion makes the servers behave as those of an older release. The default is the newest.
func WithVersion(v Version) Option {
	return func(o *options) error {
		if _, ok := emulations[v]; !ok {
			return fmt.Errorf("brokertest: WithVersion(%q): known are %s", v, strings.Join(knownVersions(), ", "))
		}
		o.version = v
		return nil
	}
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("brokertest: %s: %w", what, err)
}

func collect(list []Option) (*options, error) {
	o := &options{host: "127.0.0.1", journal: defaultJournal, version: V5}
	var errs []error
	for _, option := range list {
		errs = append(errs, option(o))
	}
	if o.systemTime && (o.frozen || !o.startTime.IsZero()) {
		errs = append(errs, errors.New("brokertest: WithSystemClock goes neither with WithTime nor with WithFrozenClock"))
	}
	return o, errors.Join(errs...)
}

// memoryDir is where a store in memory lies in its own file system.
const memoryDir = "/brokertest"

// harnessSettings are where a harness differs from the default configuration, KEY=VALUE. Options and files are stronger.
func harnessSettings() []string {
	sets := []string{
		"broker.brokerName=broker-a",
		"rocketd.eventLoops=1",
		// A client heartbeats in real time: a clock moved by two hours must not make it a lost one. Rules and CloseClient lose clients.
		"broker.channelExpiredTimeout=3153600000000",
		// Nor must it make a request that waits for a worker one that has waited too long.
		"broker.brokerFastFailureEnable=false",
		// Retention follows the clock at any hour.
		"broker.deleteWhen=00;01;02;03;04;05;06;07;08;09;10;11;12;13;14;15;16;17;18;19;20;21;22;23",
	}
	// Queues of workers take memory for their bound.
	for _, key := range []string{
		"sendThreadPoolQueueCapacity", "pullThreadPoolQueueCapacity", "litePullThreadPoolQueueCapacity", "ackThreadPoolQueueCapacity",
		"replyThreadPoolQueueCapacity", "queryThreadPoolQueueCapacity", "consumerManagerThreadPoolQueueCapacity",
		"heartbeatThreadPoolQueueCapacity", "endTransactionPoolQueueCapacity", "adminBrokerThreadPoolQueueCapacity",
	} {
		sets = append(sets, "broker."+key+"=1000")
	}
	return append(sets, "namesrv.defaultThreadPoolQueueCapacity=1000")
}

// baseConfig is the configuration without options that need reading it anew: it takes a millisecond to make and never changes.
var baseConfig = sync.OnceValues(func() (*conf.Config, error) {
	return loadConfig(&options{host: "127.0.0.1"})
})

func loadConfig(o *options) (*conf.Config, error) {
	dir := o.dir
	if dir == "" {
		dir = memoryDir
	}
	flags := []conf.Setting{
		{Flag: "WithAddress", Key: "rocketd.host", Value: o.host},
		{Flag: "WithAddress", Key: "namesrv.listenPort", Value: fmt.Sprint(o.namesrv)},
		{Flag: "WithAddress", Key: "broker.listenPort", Value: fmt.Sprint(o.broker)},
		{Flag: "WithDir", Key: "rocketd.dataDir", Value: dir},
	}
	if o.advertise != "" {
		flags = append(flags, conf.Setting{Flag: "WithAdvertise", Key: "rocketd.advertise", Value: o.advertise})
	}
	in := conf.Input{Files: o.files, Sets: o.sets, Machine: conf.Machine{Hostname: "broker-a", CPUs: 2}}
	said := func(string) bool { return false }
	if len(o.files) > 0 {
		probe, err := conf.Load(in)
		if err != nil {
			return nil, err
		}
		said = func(key string) bool { return probe.Origin(key).Source != "" }
	}
	for _, pair := range harnessSettings() {
		if key, value, _ := strings.Cut(pair, "="); !said(key) {
			flags = append(flags, conf.Setting{Flag: "brokertest", Key: key, Value: value})
		}
	}
	in.Flags = flags
	return conf.Load(in)
}

// config is the configuration that o asks for.
func (o *options) config() (*conf.Config, error) {
	var c *conf.Config
	if len(o.sets)+len(o.files) > 0 || o.dir != "" || o.host != "127.0.0.1" || o.advertise != "" || o.namesrv != 0 || o.broker != 0 {
		loaded, err := loadConfig(o)
		if err != nil {
			return nil, fmt.Errorf("brokertest: %w", err)
		}
		c = loaded
	} else {
		base, err := baseConfig()
		if err != nil {
			return nil, fmt.Errorf("brokertest: %w", err)
		}
		own := *base
		c = &own
	}
	c.Rocketd.Topics = append(c.Rocketd.Topics[:len(c.Rocketd.Topics):len(c.Rocketd.Topics)], o.topics...)
	c.Rocketd.Topics = append(c.Rocketd.Topics, retryTopics(o.groups)...)
	c.Rocketd.Groups = append(c.Rocketd.Groups[:len(c.Rocketd.Groups):len(c.Rocketd.Groups)], o.groups...)
	return c, nil
}

// retryTopics are those of groups. The first heartbeat of a group creates them, but a client that asks for their route before has to
// wait for its next look at the routes, half a minute later.
func retryTopics(groups []conf.GroupSpec) []conf.TopicSpec {
	var topics []conf.TopicSpec
	for _, g := range groups {
		topics = append(topics, conf.TopicSpec{Name: message.RetryTopic(g.Name), Queues: max(1, g.RetryQueueNums), Perm: 6})
	}
	return topics
}

// logger writes where o says, or nothing.
func (o *options) logger() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	log.SetLevel(logrus.PanicLevel)
	if o.log != nil {
		log.SetOutput(o.log)
		log.SetLevel(logrus.InfoLevel)
	}
	return logrus.NewEntry(log)
}
