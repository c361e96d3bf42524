package secrets_test

import (
	"context"
	"strings"
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/automation/internal/modules"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// stored is a journal that does effects in the database.
type stored struct{ db *sqldb.DB }

func (j stored) Once(ctx context.Context, _ string, do func(ctx context.Context, tx *sqldb.Tx) (any, error)) (result any, err error) {
	err = j.db.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		result, err = do(ctx, tx)
		return err
	})
	return result, err
}

func (stored) Durable() bool { return false }
func (stored) RunID() string { return "" }

// An automation keeps a secret, gets a reference that its own fetch can use, and its value is in no event of the run.
func TestModule(t *testing.T) {
	t.Parallel()
	each(t, func(h *house) {
		secret, ok := "", false
		language := machine.Instructions{
			"run": modules.Instruction(modules.Table{"secrets": h.secrets.Functions()}),
			"fetch": machine.Simple(func(f *machine.Frame, parameters *value.Object) (any, error) {
				var err error
				secret, ok, err = h.secrets.Reveal(f.Context(), parameters.Get("url").(string), f.Run().Root.WorkspaceID)
				return value.Undefined{}, err
			}),
		}
		b := machinetest.New(h.T, language)
		b.Machine.Clock, b.Machine.DB = h.clock, h.db
		b.Home.WorkspaceID = "w"
		b.Run.Journal = stored{h.db}
		b.Add("main", `
do:
- run: {module: secrets, function: set, parameters: {name: token, value: hunter2-of-user}, output: ref}
- fetch: {url: "{{ref}}"}
- run: {module: secrets, function: get, parameters: {name: token}, output: again}
- run: {module: secrets, function: delete, parameters: {name: token}, output: gone}
- run: {module: secrets, function: get, parameters: {name: token}, output: none}
- run: {module: secrets, function: set, parameters: {name: x, value: y, scope: workspace}, onError: continue, output: refused}
output: {gone: "{{gone}}", none: "{{none}}", refused: "{{refused.error}}", again: "{{again}}"}
`)
		result := b.Execute("main", machine.Payload("seen", "hunter2-of-user"))
		if result.Err != nil || secret != "hunter2-of-user" || !ok {
			h.Fatalf("%q, %v, %v", secret, ok, result.Err)
		}
		text := machinetest.JSON(result.Output)
		if !strings.HasPrefix(text, `{"gone":{"deleted":true},"none":{"error":"not_found"},"refused":"ForbiddenError","again":"$secret:`) {
			h.Error(text)
		}
		for _, record := range b.Recorder.Of("runtime.automations.executed") {
			if strings.Contains(string(record.Body), "hunter2") {
				h.Errorf("it is in the event: %s", record.Body)
			}
		}
	})
}
