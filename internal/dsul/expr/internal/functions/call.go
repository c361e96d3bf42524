package functions

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"atelier/internal/dsul/expr/internal/pattern"
	"atelier/internal/dsul/expr/value"
)

// Env is what an expression may see of the world.
type Env struct {
	// Lookup returns the value of a variable by its first name, value.Undefined without one. The values it gives are
	// those of package value, and are not changed while an expression runs.
	Lookup func(name string) any
	// Path returns what a variable holds at some keys. Without it the keys are followed from what Lookup gives; with it a
	// large variable need not be handed out whole for one of its parts.
	Path func(name string, keys []string) any
	// Now is the time.
	Now func() time.Time
	// Random returns random bits.
	Random func() uint64
	// Locale and Zone are used where a date names none.
	Locale string
	Zone   *time.Location
	// Zones finds a time zone by its name.
	Zones func(name string) (*time.Location, error)
	// Large, when it is set, is told before so many bytes are taken for one text, and now and then, with none, while one is made.
	Large func(bytes int)
	// Spare is what one expression leaves for the next one, so that it need not be made anew. One goroutine at a time uses an Env.
	Spare any
}

// Budget is what an expression may still cost: about one for every byte it makes and every item it looks at.
type Budget struct {
	Left int
	// Large is that of Env.
	Large func(bytes int)
}

// MaxCost is the budget of one expression. Spent in whatever way, it is gone in a quarter of a second or so.
const MaxCost = 1 << 25

// ErrTooMuch says that an expression has used up its budget.
var ErrTooMuch = errors.New("it costs too much: use shorter texts, shorter lists or fewer operations")

// Spend takes from the budget.
func (b *Budget) Spend(cost int) error {
	if b.Left -= cost; b.Left < 0 || cost < 0 {
		return ErrTooMuch
	}
	return nil
}

// Search pays for a search of a pattern in a text.
func (b *Budget) Search(p *pattern.Pattern, text string) error {
	return b.Spend(2 * p.Work(text)) // a step of a search takes longer than a byte
}

// JSON writes a value as JSON, within the budget.
func (b *Budget) JSON(v any, indent string) (string, error) {
	text, ok := value.JSON(v, indent, min(b.Left, large))
	if !ok && b.Left > large {
		text, ok = b.largeJSON(v, indent)
	}
	if !ok {
		return "", ErrTooMuch
	}
	return text, b.Spend(len(text))
}

// large is what is made in one go. For more it is worth to know first how much it is.
const large = 1 << 20

// largeJSON writes a value twice, and keeps only what is known to fit: otherwise a text that is too long would take many times its
// size in memory before anybody knew.
func (b *Budget) largeJSON(v any, indent string) (string, bool) {
	size := 0
	value.Pieces(v, indent, func(piece []byte) bool {
		b.pause(0)
		size += len(piece)
		return size <= b.Left
	})
	if size > b.Left {
		return "", false
	}
	b.pause(size)
	var out strings.Builder
	out.Grow(size)
	value.Pieces(v, indent, func(piece []byte) bool {
		b.pause(0)
		out.Write(piece)
		return true
	})
	return out.String(), true
}

func (b *Budget) pause(bytes int) {
	if b.Large != nil {
		b.Large(bytes)
	}
}

// Text writes a value as it appears in a text, within the budget.
func (b *Budget) Text(v any) (string, error) {
	switch v.(type) {
	case []any, *value.Object:
		return b.JSON(v, "  ")
	}
	text, ok := value.Text(v, b.Left)
	if !ok {
		return "", ErrTooMuch
	}
	return text, b.Spend(len(text))
}

// Call is one call of a function.
type Call struct {
	Args   []any
	Field  string
	Env    *Env
	Budget *Budget
}

// arg returns an argument, undefined when it is missing.
func (c *Call) arg(i int) any {
	if i < len(c.Args) {
		return c.Args[i]
	}
	return value.Undefined{}
}

// text returns an argument that must be a text.
func (c *Call) text(i int) (string, error) {
	text, ok := c.arg(i).(string)
	if !ok {
		return "", c.wrong(i, "a text")
	}
	return text, c.Budget.Spend(len(text))
}

// number returns an argument that must be a number.
func (c *Call) number(i int) (float64, error) {
	n, ok := c.arg(i).(float64)
	if !ok {
		return 0, c.wrong(i, "a number")
	}
	return n, nil
}

// given says that an argument is there, neither null nor undefined.
func (c *Call) given(i int) bool { return value.Exists(c.arg(i)) }

func (c *Call) wrong(i int, wanted string) error {
	return fmt.Errorf("argument %d must be %s, not %s", i+1, wanted, kind(c.arg(i)))
}

// kind names what a value is, and nothing of what it holds.
func kind(v any) string {
	switch v.(type) {
	case value.Undefined:
		return "undefined"
	case nil:
		return "null"
	case bool:
		return "true or false"
	case float64:
		return "a number"
	case string:
		return "a text"
	case []any:
		return "a list"
	case *pattern.Pattern:
		return "a regular expression"
	default:
		return "an object"
	}
}

// scalarText returns an argument that is a text, or a number or a boolean as one. What is absent stays absent: ok is false.
func (c *Call) scalarText(i int) (text string, ok bool, err error) {
	switch v := c.arg(i).(type) {
	case string:
		return v, true, c.Budget.Spend(len(v))
	case float64, bool:
		return value.String(v), true, nil
	case nil, value.Undefined:
		return "", false, nil
	default:
		return "", false, c.wrong(i, "a text")
	}
}
