package code

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations is the schema of deployed functions.
func Migrations() sqldb.Migrations {
	dir, err := fs.Sub(files, "migrations")
	if err != nil {
		dir = files // cannot happen: the name is fixed and valid
	}
	return sqldb.Migrations{Component: "functions", Files: dir}
}

// What is asked of Allow.
const (
	ActionDeploy = "deploy"
	ActionRun    = "run"
)

// deployedOwner owns the processes of deployed functions. No instance of an app has such a slug.
const deployedOwner = "/deployed"

// Deploy replaces the functions of a workspace by others. They are checked and kept, and not run.
func (c *Code) Deploy(ctx context.Context, workspaceID string, functions *value.Object) error {
	if err := c.allow(ctx, workspaceID, ActionDeploy); err != nil {
		return err
	}
	if wrong := checkFunctions(functions); len(wrong) > 0 {
		return errs.Invalid(wrong...)
	}
	text, ok := value.JSON(functions, "", c.limits.Request)
	if !ok {
		return errs.Newf(errs.PayloadTooLarge, "The functions are larger than %s: deploy less.", size(c.limits.Request))
	}
	return c.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO functions (workspace_id, definitions, deployed_at) VALUES ($1, $2, $3)
			ON CONFLICT (workspace_id) DO UPDATE SET definitions = excluded.definitions, deployed_at = excluded.deployed_at`,
			workspaceID, text, sqldb.Millis(c.deps.Clock.Now()))
		return err
	})
}

// RunDeployed runs a function that was deployed.
func (c *Code) RunDeployed(ctx context.Context, workspaceID, function string, parameters *value.Object) (Answer, error) {
	if err := c.allow(ctx, workspaceID, ActionRun); err != nil {
		return Answer{}, err
	}
	functions, err := c.deployed(ctx, workspaceID)
	if err != nil {
		return Answer{}, err
	}
	if function == "" {
		return Answer{}, machine.Fail(machine.InvalidArguments, "Say which function to run.")
	}
	return c.Run(ctx, Call{WorkspaceID: workspaceID, Owner: deployedOwner, Functions: functions, Function: function, Parameters: parameters})
}

// Undeploy forgets the functions of a workspace that is deleted, in the transaction that deletes it.
func Undeploy(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM functions WHERE workspace_id = $1`, workspaceID)
	return err
}

func (c *Code) allow(ctx context.Context, workspaceID, action string) error {
	if c.deps.Allow == nil {
		return nil
	}
	return c.deps.Allow(ctx, workspaceID, action)
}

// deployed reads the functions of a workspace; without any there is an empty object.
func (c *Code) deployed(ctx context.Context, workspaceID string) (*value.Object, error) {
	var text string
	err := c.deps.DB.QueryRow(ctx, `SELECT definitions FROM functions WHERE workspace_id = $1`, workspaceID).Scan(&text)
	if sqldb.IsNotFound(err) {
		return value.NewObject(0), nil
	}
	if err != nil {
		return nil, err
	}
	decoded, err := value.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("read deployed functions: %w", err)
	}
	functions, ok := decoded.(*value.Object)
	if !ok {
		return nil, fmt.Errorf("deployed functions of %s are not an object", workspaceID)
	}
	return functions, nil
}

// What can be deployed at once.
const (
	mostFunctions = 500
	longestName   = 200
)

// checkFunctions tells what is wrong with definitions.
func checkFunctions(functions *value.Object) (wrong []errs.Field) {
	if functions == nil {
		return []errs.Field{{Field: "functions", Message: "It is missing: it must be an object with a definition for every name."}}
	}
	if functions.Len() > mostFunctions {
		return []errs.Field{{Field: "functions", Message: fmt.Sprintf("There can be %d functions at most.", mostFunctions)}}
	}
	for name, definition := range functions.All() {
		at := "functions." + name
		if name == "" || len(name) > longestName {
			wrong = append(wrong, errs.Field{Field: at, Message: fmt.Sprintf("A name has between 1 and %d characters.", longestName)})
			continue
		}
		f, ok := definition.(*value.Object)
		if !ok {
			wrong = append(wrong, errs.Field{Field: at, Message: "It must be an object with code, and parameters and language if needed."})
			continue
		}
		wrong = append(wrong, checkFunction(at, f)...)
	}
	return wrong
}

func checkFunction(at string, f *value.Object) (wrong []errs.Field) {
	for key, v := range f.All() {
		switch key {
		case "code":
		case "language":
			if _, ok := v.(string); !ok || checkLanguage(v) != nil {
				wrong = append(wrong, errs.Field{Field: at + ".language", Message: "Only nodejs is available here."})
			}
		case "parameters":
			if _, ok := v.(*value.Object); !ok {
				wrong = append(wrong, errs.Field{Field: at + ".parameters", Message: "It must be an object: the name of every parameter, and its type."})
			}
		default:
			wrong = append(wrong, errs.Field{Field: at + "." + key, Message: "It is not known: a function has language, parameters and code."})
		}
	}
	if _, ok := f.Get("code").(string); !ok {
		wrong = append(wrong, errs.Field{Field: at + ".code", Message: "It must be a text: the body of the function."})
	}
	return wrong
}
