package app_test

import (
	"net/http"
	"testing"

	"atelier/internal/access"
	"atelier/internal/app/apptest"
	"atelier/internal/gateway"
)

// Whose a credential is, is told to processes of the installation alone: to everybody else there is no such address, super admins
// and those who forge a proof included.
func TestNobodyElseIsToldWhoseACredentialIs(t *testing.T) {
	t.Parallel()
	server := apptest.New(t)
	admin := server.Admin()
	credential := map[string]any{"authorization": "Bearer " + admin.Token}
	for name, client := range map[string]*apptest.Client{
		"nobody": server.Anyone(), "a super admin": admin, "a forged proof": server.Anyone().With(access.HeaderProof, "forged"),
		"the internal key": server.Anyone().With("X-Svc-Api-Key", apptest.InternalKey),
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			if got := client.Do(method, gateway.CallersPath, credential); got.Status != http.StatusNotFound {
				t.Errorf("%s %s: %d %s", name, method, got.Status, got.Body)
			}
		}
	}
}
