package crypto_test

import (
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/automation/internal/modules"
	"atelier/internal/automation/internal/modules/crypto"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/ident"
)

// A run that is begun anew draws what it drew before, so that it finds again what it has named by it.
func TestDrawnOnce(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{true, false} {
		b := machinetest.New(t, machine.Instructions{"run": modules.Instruction(modules.Table{"crypto": crypto.Functions(ident.Source{})})})
		b.Journal.Survives = durable
		b.Run = b.Fresh()
		b.Add("main", `
do:
- run: {module: crypto, function: randomUUID, output: id}
- run: {module: crypto, function: randomUUID, output: other}
- run: {module: crypto, function: randomBytes, parameters: {length: 9}, output: bytes}
output: ["{{id}}", "{{other}}", "{{bytes}}"]
`)
		first := b.Execute("main", value.NewObject(0))
		b.Run = b.Fresh()
		second := b.Execute("main", value.NewObject(0))
		if first.Err != nil || second.Err != nil {
			t.Fatal(first.Err, second.Err)
		}
		if same := machinetest.JSON(first.Output) == machinetest.JSON(second.Output); same != durable {
			t.Errorf("durable %v: %s, then %s", durable, machinetest.JSON(first.Output), machinetest.JSON(second.Output))
		}
		list := first.Output.([]any)
		if list[0] == list[1] || len(list[0].(string)) != 36 || len(list[2].(string)) != 12 {
			t.Error(list)
		}
	}
}
