package broker

import (
	"fmt"
	"strconv"
	"time"
)

func itoa[N ~int | ~int32 | ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// quoted is a value of a client for a remark: in quotes and not too long.
func quoted(value string) string {
	const most = 64
	if len(value) > most {
		return fmt.Sprintf("%q (%d bytes)", value[:most], len(value))
	}
	return strconv.Quote(value)
}

// humanTime prints ms since the epoch as the reference does (UtilAll#timeMillisToHumanString2), local time.
func humanTime(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05,000") }
