package splice

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/internal/value"
)

// Tries tells how many attempts a replacement takes, zero when the whole text is written anew.
func Tries(text []byte, node *yaml.Node) int {
	want, err := value.Of(node)
	if err != nil {
		return -1
	}
	d, found, err := open(text)
	if err != nil {
		return -1
	}
	for try := 1; found && try <= attempts; try++ {
		last := d.root == nil || d.root.forced
		if _, ok := d.attempt(want); ok {
			return try
		}
		found = !last
	}
	return 0
}
