// Command victim passes two points, the second one twice, and tells how far it came.
package main

import (
	"os"

	"atelier/internal/failpoint"
)

func main() {
	for _, step := range []string{"one", "two", "three"} {
		if step == "one" {
			failpoint.At("victim.first")
		} else {
			failpoint.At("victim.second")
		}
		_, _ = os.Stdout.WriteString(step + "\n")
	}
}
