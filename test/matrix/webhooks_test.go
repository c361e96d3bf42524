package matrix_test

import (
	"net/http"
	"strconv"

	"atelier/internal/app/apptest"
	"atelier/internal/ident"
)

// webhookRows are those of webhooks. Whoever may update the workspace manages them, and sees what they were sent.
func webhookRows() map[string]row {
	const path, ws = "/v2/workspaces/{workspaceId}/subscriptions", "workspaces"
	const one, many = path + "/{subscriptionId}", path + "/{subscriptionId}/deliveries"
	made := map[string]any{"url": "https://hooks.invalid/made"}
	another := func(w *world) map[string]string { return w.webhook(w.signIn("admin"), w.w) }
	return map[string]row{
		"GET " + path:                           {action: "update", subject: ws},
		"POST " + path:                          {action: "update", subject: ws, body: made, status: http.StatusCreated, prepare: (*world).noWebhook},
		"GET " + one:                            {action: "update", subject: ws},
		"PATCH " + one:                          {action: "update", subject: ws, body: map[string]any{"description": "changed"}},
		"DELETE " + one:                         {action: "update", subject: ws, prepare: another},
		"POST " + one + "/rotate":               {action: "update", subject: ws, body: map[string]any{"overlap": 0}},
		"POST " + one + "/test":                 {action: "update", subject: ws},
		"POST " + one + "/replay":               {action: "update", subject: ws, body: map[string]any{"onlyFailed": true}, status: http.StatusOK},
		"GET " + many:                           {action: "update", subject: ws},
		"GET " + many + "/{deliveryId}":         {action: "update", subject: ws},
		"POST " + many + "/{deliveryId}/replay": {action: "update", subject: ws},
	}
}

// webhook makes a subscription with a delivery. Its address leads nowhere.
func (w *world) webhook(owner *apptest.Client, workspace string) map[string]string {
	w.t.Helper()
	path := "/v2/workspaces/" + workspace + "/subscriptions"
	id := owner.Post(path, map[string]any{"url": "https://hooks.invalid/" + (ident.Source{}).UUID()}).Want(http.StatusCreated).Text("id")
	tried := owner.Post(path+"/"+id+"/test", nil).Want(http.StatusOK)
	return map[string]string{"subscriptionId": id, "deliveryId": tried.Text("delivery.id")}
}

// noWebhook deletes what the last caller has made: the same subscription twice is refused.
func (w *world) noWebhook() map[string]string {
	w.t.Helper()
	admin, path := w.signIn("admin"), "/v2/workspaces/"+w.w+"/subscriptions"
	all := admin.Get(path + "?limit=100").Want(http.StatusOK)
	for i := 0; all.Text(strconv.Itoa(i)+".id") != ""; i++ {
		if all.Text(strconv.Itoa(i)+".url") == "https://hooks.invalid/made" {
			admin.Delete(path + "/" + all.Text(strconv.Itoa(i)+".id")).Want(http.StatusOK)
		}
	}
	return nil
}
