package functions

import "atelier/internal/dsul/expr/value"

// join(list[, separator]) makes a text of the items of a list.
func runJoin(c *Call) (any, error) {
	list, ok := c.arg(0).([]any)
	if !ok {
		return nil, c.wrong(0, "a list")
	}
	separator := ","
	if c.given(1) {
		var err error
		if separator, err = c.text(1); err != nil {
			return nil, err
		}
	}
	if err := c.Budget.Spend(len(list) * (len(separator) + 1)); err != nil {
		return nil, err
	}
	text := value.Join(list, separator)
	return text, c.Budget.Spend(len(text))
}
