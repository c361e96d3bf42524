package service_test

import (
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/internal/workspaces/service"
)

// earlier are the tables of the release before there were documents.
func earlier(t *testing.T) sqldb.Migrations {
	t.Helper()
	all := service.Migrations()
	const first = "0001_workspaces.sql"
	text, err := fs.ReadFile(all.Files, first)
	if err != nil {
		t.Fatal(err)
	}
	return sqldb.Migrations{Component: all.Component, Files: fstest.MapFS{first: {Data: text}}}
}

// A workspace of the release before has its documents after the upgrade, and can be worked with.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		err := db.Tx(ctx, func(tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO ws_workspaces (id, slug, name, description, labels, revision, content_revision, pushed_revision, created_at, created_by, updated_at, updated_by)
				VALUES ('Old0001', 'old-one', 'Old One', 'From before', '["kept"]', 3, 3, 0, 1, 'ann', 1, 'ann')`)
			if err != nil {
				return err
			}
			if err := access.GrantSuperAdmins(ctx, tx, "Old0001"); err != nil {
				return err
			}
			return access.NewEnforcer(clock.NewManual(now)).InitSecurity(ctx, tx, "Old0001")
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sqldb.Migrate(ctx, db, now, service.Migrations()); err != nil {
			t.Fatal(err)
		}
		h := newHouse(t, db)
		root, at := h.superAdmin(), "/v2/workspaces/Old0001"
		if read := root.get(at).want(http.StatusOK); read.text("description") != "From before" || read.text("labels.0") != "kept" {
			t.Errorf("workspace: %s", read.body)
		}
		if text := root.yaml(at); !strings.Contains(text, "name: Old One") || !strings.Contains(text, "- kept") {
			t.Errorf("index: %s", text)
		}
		if list := root.get("/v2/workspaces?search=before").want(http.StatusOK); list.text("0.id") != "Old0001" {
			t.Errorf("search: %s", list.body)
		}
		root.patch(at, map[string]any{"name": "Newer"}).want(http.StatusOK)
		root.put(at+"/automations/a", map[string]any{"name": "A", "do": []any{}}).want(http.StatusCreated)
	}, sqlbus.Migrations(), restapi.Migrations(), access.Migrations(), earlier(t))
}
