package value_test

import (
	"math"
	"strings"
	"testing"

	"atelier/internal/dsul/expr/value"
)

// What comes in pieces is what is written at once, and it ends when there is enough.
func TestPieces(t *testing.T) {
	t.Parallel()
	list := []any{nil, value.Undefined{}, strings.Repeat("é\"", 50_000), "end"}
	for i := range 20_000 {
		o := value.NewObject(2)
		o.Set("n", float64(i))
		o.Set("l", []any{"x", true})
		list = append(list, o)
	}
	for _, v := range []any{1.0, "text", value.NewObject(0), []any{}, value.Undefined{}, []any{1.0}, list, []any{list, list}} {
		for _, indent := range []string{"", "  "} {
			want, _ := value.JSON(v, indent, math.MaxInt)
			var got strings.Builder
			value.Pieces(v, indent, func(piece []byte) bool { got.Write(piece); return true })
			if got.String() != want {
				t.Errorf("%d bytes in pieces, %d at once", got.Len(), len(want))
			}
		}
	}
	taken := 0
	value.Pieces([]any{list, list, list}, "", func([]byte) bool { taken++; return taken < 3 })
	if taken != 3 {
		t.Errorf("%d pieces were taken after the third was enough", taken)
	}
}
