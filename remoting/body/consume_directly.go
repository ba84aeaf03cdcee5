package body

// How a message consumed on request ended (CMResult).
const (
	ResultSuccess        ConsumeResult = "CR_SUCCESS"
	ResultLater          ConsumeResult = "CR_LATER"
	ResultRollback       ConsumeResult = "CR_ROLLBACK"
	ResultCommit         ConsumeResult = "CR_COMMIT"
	ResultThrowException ConsumeResult = "CR_THROW_EXCEPTION"
	ResultReturnNull     ConsumeResult = "CR_RETURN_NULL"
)

// ConsumeResult tells how a message consumed on request ended.
type ConsumeResult string

var consumeResults = []ConsumeResult{
	ResultSuccess, ResultLater, ResultRollback, ResultCommit, ResultThrowException, ResultReturnNull,
}

// ConsumeDirectlyResult is a client's reply of CONSUME_MESSAGE_DIRECTLY (ConsumeMessageDirectlyResult).
type ConsumeDirectlyResult struct {
	Order          bool
	AutoCommit     bool
	ConsumeResult  ConsumeResult
	Remark         string
	SpentTimeMills int64
}

func (c *ConsumeDirectlyResult) setDefaults() { *c = ConsumeDirectlyResult{AutoCommit: true} }

func (c *ConsumeDirectlyResult) members(m *members) {
	m.boolean("autoCommit", &c.AutoCommit)
	if m.atIf(c.ConsumeResult != "", "consumeResult") {
		enum(m.x, &c.ConsumeResult, consumeResults)
	}
	m.boolean("order", &c.Order)
	m.optStr("remark", &c.Remark)
	m.i64("spentTimeMills", &c.SpentTimeMills)
}
