package functions

import "strings"

// itemCost is what an item of a list costs more than its text.
const itemCost = 16

// split(text, separator) makes a list of the pieces of a text; of its characters, when the separator is empty.
func runSplit(c *Call) (any, error) {
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	separator, err := c.text(1)
	if err != nil {
		return nil, err
	}
	pieces := strings.Count(text, separator) + 1
	if err := c.Budget.Spend(pieces * itemCost); err != nil {
		return nil, err
	}
	list := make([]any, 0, pieces)
	for piece := range strings.SplitSeq(text, separator) {
		list = append(list, piece)
	}
	return list, nil
}
