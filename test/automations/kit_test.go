package automations_test

import (
	"net/http"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

// room is a workspace of a test.
type room struct {
	t     *testing.T
	admin *apptest.Client
	path  string
	id    string
}

func newRoom(t *testing.T, admin *apptest.Client, fields map[string]any) *room {
	t.Helper()
	if fields["name"] == nil {
		fields["name"] = "Room"
	}
	id := admin.Post("/v2/workspaces", fields).Want(http.StatusCreated).Text("id")
	return &room{t: t, admin: admin, path: "/v2/workspaces/" + id, id: id}
}

// add makes an automation of JSON, such as {"when": {"endpoint": true}, "do": []}.
func (r *room) add(slug, fields string) {
	r.t.Helper()
	r.admin.Post(r.path+"/automations", `{"slug": "`+slug+`", "name": "`+slug+`", `+fields[1:]).Want(http.StatusCreated)
}

// call calls an endpoint as the admin.
func (r *room) call(endpoint string, body any) *apptest.Response {
	r.t.Helper()
	return r.admin.Post(r.path+"/webhooks/"+endpoint, body)
}

// emit emits an event.
func (r *room) emit(eventType string, payload map[string]any) {
	r.t.Helper()
	r.admin.Post(r.path+"/events", map[string]any{"events": []any{map[string]any{"type": eventType, "payload": payload}}}).Want(http.StatusOK)
}

// until asks again and again until something holds.
func (r *room) until(what string, holds func() bool) {
	r.t.Helper()
	const patience = 400
	for range patience {
		if holds() {
			return
		}
		timer := time.NewTimer(50 * time.Millisecond)
		<-timer.C
	}
	r.t.Fatalf("it never came about that %s", what)
}

// events gives how many events of a type there are.
func (r *room) events(eventType string) int {
	r.t.Helper()
	list, _ := r.admin.Get(r.path + "/events?types=" + eventType + "&limit=100").Want(http.StatusOK).At("result.events").([]any)
	return len(list)
}
