// Package message holds what a RocketMQ message is, independent of wire and store: its properties, system flag, ids, names,
// and the one encoder and decoder of the stored record, which is also the form messages travel in.
//
// It does no I/O, starts no goroutine and keeps no state but the counter of a UniqueKeys. Functions are safe for
// concurrent use on different data.
//
// # Stored record
//
// All integers are big-endian. "v6" is 20 bytes (16 address + 4 port) where "v4" is 8 (4 + 4).
//
//	offset  size   name
//	0       4      total size, this field included
//	4       4      magic: MagicV1, MagicV2; MagicBlank marks the filler at the end of a file
//	8       4      CRC-32 (IEEE) of the body & 0x7FFFFFFF
//	12      4      queue id
//	16      4      flag of the user
//	20      8      queue offset
//	28      8      physical offset
//	36      4      sysFlag
//	40      8      born timestamp, ms
//	48      8|20   born host, v6 iff sysFlag & SysBornHostV6
//	56+     8      store timestamp, ms
//	64+     8|20   store host, v6 iff sysFlag & SysStoreHostV6
//	72+     4      reconsume times
//	76+     8      prepared transaction offset
//	84+     4 + n  body
//	...     1 + n  topic (V1, n <= 127) or 2 + n (V2)
//	...     2 + n  properties, n <= 32767
//
// With the setting enabledAppendPropCRC the properties end in a 20-byte tail "__CRC32#" 0x01, 10 decimal digits of the
// CRC of the record before the tail, least significant first, 0x02.
//
// # Aliasing
//
// Decoders copy nothing. Strings and slices of a Record, and the strings Properties hands out, alias the bytes they were
// read from: they are valid while those bytes are neither changed nor unmapped. What outlives them is cloned
// (strings.Clone, bytes.Clone, Properties.Clone) by whoever keeps it.
package message
