package app_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"atelier/internal/app/apptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSignInAndMe(t *testing.T) {
	t.Parallel()
	server := apptest.New(t)
	me := server.Admin().Get("/v2/me").Want(http.StatusOK)
	if me.Text("email") != apptest.AdminEmail || me.Text("platformRole") != "superadmin" {
		t.Errorf("me: %s", me.Body)
	}
	server.Anyone().Get("/v2/me").WantError(http.StatusUnauthorized, "missing_token")
}
