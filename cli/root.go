package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/conf"
)

// Process is what Run needs of the process that it runs in.
type Process struct {
	Args           []string  // without the program's name
	Env            []string  // as os.Environ
	Stdin          io.Reader // may be nil
	Stdout, Stderr io.Writer
	Version        string // "dev" unless released
}

// Run runs one command line and returns the exit code.
func Run(p Process) int {
	root := newRoot(&p)
	root.SetArgs(p.Args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.Execute()
	if err == nil {
		return ExitOK
	}
	var known *failure
	if errors.As(err, &known) && known.code == ExitOK {
		return ExitOK
	}
	if !errors.As(err, &known) { // cobra's own: unknown command, unknown flag, missing argument
		known = &failure{code: ExitUsage, sentence: err.Error() + "; rocketd --help lists commands and flags"}
	}
	if _, err := fmt.Fprintln(p.Stderr, "rocketd: "+known.sentence); err != nil {
		return max(known.code, ExitFailure) // nobody listens; the code is all that is left
	}
	return known.code
}

func newRoot(p *Process) *cobra.Command {
	var f flags
	root := &cobra.Command{
		Use:   "rocketd",
		Short: "RocketMQ name server and broker in one binary",
		Long: `rocketd serves RocketMQ clients (remoting protocol, 4.x to 5.x) as Apache RocketMQ's name server and broker do.

Without a sub-command both run in one process. When ready, one line on stdout tells the addresses; logs go to stderr.`,
		Example: `  rocketd                                        on 127.0.0.1:9876 and 127.0.0.1:10911, files in ./rocketd-data
  rocketd --dev                                  nothing is left behind
  rocketd --data /tmp/x --namesrv-port 0 --broker-port 0     any free ports
  rocketd --host 0.0.0.0 --advertise mq.example.com          open to the network
  rocketd broker -c broker.conf --namesrv 10.0.0.1:9876      Apache's configuration file, an external name server`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(*cobra.Command, []string) error { return serve(p, &f, conf.RoleAll) },
	}
	f.register(root, conf.RoleAll)
	root.Flags().BoolVar(&f.dev, "dev", false, "for a laptop: files in a temporary directory that is removed at the end, transactions asked for after seconds, message types checked, profiles")
	root.AddCommand(newNamesrv(p), newBroker(p), newConfig(p), newStore(p), newTest(p), newRecord(p), newReplay(p), newVersion(p))
	root.AddCommand(newTopic(p), newGroup(p), newOffset(p), newMessage(p), newClient(p), newCluster(p), newSend(p), newConsume(p), newTail(p), newTimer(p), newDoctor(p), newHealth(p))
	return root
}

func newNamesrv(p *Process) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "namesrv",
		Short: "Run the name server alone",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return serve(p, &f, conf.RoleNamesrv) },
	}
	f.register(c, conf.RoleNamesrv)
	return c
}

func newBroker(p *Process) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "broker",
		Short: "Run the broker alone; --namesrv names its name servers",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return serve(p, &f, conf.RoleBroker) },
	}
	f.register(c, conf.RoleBroker)
	c.AddCommand(newBrokerStats(p))
	return c
}

// flags are those of the commands that need a configuration.
type flags struct {
	data, host, advertise, namesrv string
	namesrvPort, brokerPort        string
	httpPort                       string
	files, sets                    []string
	dev                            bool
	command                        *cobra.Command
}

func (f *flags) register(c *cobra.Command, role conf.Role) {
	f.command = c
	set := c.Flags()
	set.SortFlags = false
	set.StringVar(&f.data, "data", "", "directory of all files (default ./rocketd-data)")
	if role != conf.RoleBroker {
		set.StringVar(&f.namesrvPort, "namesrv-port", "", "port of the name server, 0 picks one (default 9876)")
	}
	if role != conf.RoleNamesrv {
		set.StringVar(&f.brokerPort, "broker-port", "", "port of the broker, 0 picks one (default 10911)")
	}
	set.StringVar(&f.httpPort, "http-port", "", "port of the console and /metrics, on the loopback address; 0 picks one, -1: none (default 10988)")
	set.StringVar(&f.host, "host", "", "address to listen on (default 127.0.0.1; all addresses inside a container)")
	set.StringVar(&f.advertise, "advertise", "", "HOST[:PORT] that clients are told (default: the listen address, or an address of this machine)")
	if role != conf.RoleNamesrv {
		set.StringVar(&f.namesrv, "namesrv", "", "external name servers to register with, HOST:PORT;HOST:PORT")
	}
	set.StringArrayVarP(&f.files, "config", "c", nil, "YAML file, or Apache's broker.conf or namesrv.conf; may be repeated")
	set.StringArrayVar(&f.sets, "set", nil, "any configuration key, KEY=VALUE; may be repeated")
}

// load reads the configuration from all sources.
func (f *flags) load(p *Process, role conf.Role) (*conf.Config, error) {
	var settings []conf.Setting
	for _, s := range []struct{ flag, key, value string }{
		{"data", "dataDir", f.data},
		{"namesrv-port", "namesrv.listenPort", f.namesrvPort},
		{"broker-port", "broker.listenPort", f.brokerPort},
		{"http-port", "rocketd.httpPort", f.httpPort},
		{"host", "rocketd.host", f.host},
		{"advertise", "rocketd.advertise", f.advertise},
		{"namesrv", "broker.namesrvAddr", f.namesrv},
	} {
		if f.command.Flags().Changed(s.flag) {
			settings = append(settings, conf.Setting{Flag: "--" + s.flag, Key: s.key, Value: s.value})
		}
	}
	c, err := conf.Load(conf.Input{
		Role: role, Files: f.files, Env: p.Env, Flags: settings, Sets: f.sets, Machine: machine(p.Env),
	})
	if err != nil {
		return nil, explain(err, conf.Default())
	}
	return c, nil
}

// roleOf reads the role argument of commands that take one.
func roleOf(args []string) (conf.Role, error) {
	switch strings.Join(args, " ") {
	case "":
		return conf.RoleAll, nil
	case "broker":
		return conf.RoleBroker, nil
	case "namesrv":
		return conf.RoleNamesrv, nil
	default:
		return 0, &failure{code: ExitUsage, sentence: fmt.Sprintf("%q is neither broker nor namesrv", strings.Join(args, " "))}
	}
}
