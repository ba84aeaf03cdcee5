package message

// Bits of Message.SysFlag (MessageSysFlag).
const (
	SysCompressed  int32 = 0x1
	SysMultiTags   int32 = 0x2
	SysBornHostV6  int32 = 0x10
	SysStoreHostV6 int32 = 0x20
	SysNeedUnwrap  int32 = 0x40 // the body is an inner batch that a client must take apart
	SysInnerBatch  int32 = 0x80
)

// Values of the transaction part of SysFlag, bits 2 and 3.
const (
	TransactionNone     int32 = 0
	TransactionPrepared int32 = 0x4
	TransactionCommit   int32 = 0x8
	TransactionRollback int32 = 0xC

	transactionMask int32 = 0xC
)

// Values of the compression part of SysFlag, bits 8 to 10. Zero is the old form of zlib.
const (
	CompressionLZ4  int32 = 0x100
	CompressionZstd int32 = 0x200
	CompressionZlib int32 = 0x300

	compressionMask int32 = 0x700
)

// Transaction returns the transaction part of sysFlag.
func Transaction(sysFlag int32) int32 { return sysFlag & transactionMask }

// WithTransaction returns sysFlag with its transaction part replaced by t, one of the Transaction… values.
func WithTransaction(sysFlag, t int32) int32 { return sysFlag&^transactionMask | t&transactionMask }

// Compression returns the compression part of sysFlag.
func Compression(sysFlag int32) int32 { return sysFlag & compressionMask }
