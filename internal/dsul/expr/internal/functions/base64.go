package functions

import (
	"encoding/base64"

	"atelier/internal/dsul/expr/value"
)

// base64(x) encodes a text. Of anything else it encodes the JSON.
func runBase64(c *Call) (any, error) {
	if !c.given(0) {
		return value.Undefined{}, nil
	}
	text, ok := c.arg(0).(string)
	if !ok {
		var err error
		if text, err = c.Budget.JSON(c.arg(0), ""); err != nil {
			return nil, err
		}
	}
	if err := c.Budget.Spend(base64.StdEncoding.EncodedLen(len(text))); err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
}
