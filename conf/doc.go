// Package conf holds the one configuration of the process: the reference's keys as Go fields with the reference's
// defaults, and rocketd's own keys.
//
// # Keys
//
// A key is declared twice in one file: as a field, whose comment gives meaning, unit and default where rocketd acts
// on it, and as a row of the struct's keys method, which gives the wire name, the default and the rules of its values.
// That row alone drives defaults, reading, validation, lookup by name, listing and printing.
//
// Keys live in three sections, because the reference uses some names in more than one class (listenPort, rocketmqHome,
// configBlackList):
//
//	section   structs                                  where its keys may stand
//	rocketd   Rocketd                                  YAML top level, --set, environment
//	broker    Broker, Store, Server, Client            broker.conf, YAML below "broker:" or at the top, --set broker.KEY
//	namesrv   Namesrv, NamesrvServer                   namesrv.conf, YAML below "namesrv:", --set namesrv.KEY
//
// A name without a section is looked up in that order.
//
// # Sources
//
// From weak to strong: defaults, files in the order given, environment, flags, --set. Every unknown key and every bad
// value of all sources is reported together, with file and line. What the machine decides (host name, addresses,
// paths below the data directory) is filled in last, where no source spoke.
//
// # Concurrency
//
// A *Config is never changed once Load or Default has returned it: it is safe to read from any goroutine. Run-time
// updates make a new one (With, UpdateBroker, UpdateNamesrv), which the owner publishes.
package conf
