// Package filter decides which messages a subscription wants: by tag (TAG) or by a condition on properties (SQL92). An expression is
// compiled once and then used by any number of goroutines; matching allocates nothing.
//
// It copies Apache 5.5's decisions, the odd ones too (rocketmq-filter's SelectorParser and expression classes, FilterAPI,
// ExpressionMessageFilter). What surprises:
//
//   - TAG compares the hash of the whole TAGS value; the client compares the tag itself again.
//   - A property is text. Compared with a number it must parse as the literal's type: 7.5 against 7 does not, against 7.0 it does. If
//     it does not parse, the whole expression is false, even under OR, unless the other side of the OR came first and was true.
//   - < <= > >= between two properties compare numbers, and fail if either is not one.
//   - NOT binds to the operand next to it, not to the comparison: NOT a = 5 is (NOT a) = 5. A property alone counts as false if it
//     is there and as unknown if it is not.
//   - CONTAINS, STARTSWITH, ENDSWITH and their NOT forms are false if the property is missing or the text is empty.
//   - = with a missing left side is unknown, with a missing right side false.
//   - 0.0, and a float too small or too large for a double, is an error, and so is -9223372036854775808.
//   - What follows a complete condition is ignored if it cannot continue it: "a > 5 garbage" is "a > 5". Expression.Ignored tells.
//
// Beyond Apache, length and nesting of an expression are bounded (MaxLength, MaxDepth), and errors tell line and column.
package filter
