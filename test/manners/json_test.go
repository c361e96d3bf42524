package manners_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Bodies that are not one well-formed document.
func unreadableJSON(t *testing.T, d *door) {
	t.Helper()
	nested := func(n int) string { return `{"name":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}" }
	for name, body := range map[string]string{
		"B-JSN-01 empty":                ``,
		"B-JSN-01 spaces":               `   `,
		"B-JSN-01 nul":                  `nul`,
		"B-JSN-01 open brace":           `{`,
		"B-JSN-01 trailing comma":       `{"name":"a",}`,
		"B-JSN-01 single quotes":        `{'name':'a'}`,
		"B-JSN-01 comment":              `{"name":"a"/* */}`,
		"B-JSN-01 line comment":         "{\"name\":\"a\"} // x",
		"B-JSN-01 byte order mark":      "\xef\xbb\xbf{\"name\":\"a\"}",
		"B-JSN-01 unquoted key":         `{name:"a"}`,
		"B-JSN-01 raw control":          "{\"name\":\"a\nb\"}",
		"B-JSN-02 garbage after":        `{"name":"a"} garbage`,
		"B-JSN-02 two documents":        `{"name":"a"}{"name":"b"}`,
		"B-JSN-02 closing brace after":  `{"name":"a"}}`,
		"B-JSN-03 duplicate":            `{"name":"a","name":"b"}`,
		"B-JSN-03 duplicate escaped":    `{"name":"a","n\u0061me":"b"}`,
		"B-JSN-03 duplicate deep":       `{"name":"a","x":[{"a":{"b":1,"b":2}}]}`,
		"B-JSN-06 depth 65":             nested(65),
		"B-JSN-06 depth 1000":           nested(1000),
		"B-JSN-06 depth 100000":         nested(100_000),
		"B-JSN-07 NaN":                  `{"name":NaN}`,
		"B-JSN-07 Infinity":             `{"name":Infinity}`,
		"B-JSN-07 leading zero":         `{"name":01}`,
		"B-JSN-07 hexadecimal":          `{"name":0x1}`,
		"B-JSN-08 invalid UTF-8":        "{\"name\":\"\xff\"}",
		"B-JSN-08 invalid UTF-8 key":    "{\"n\xffme\":\"a\"}",
		"B-JSN-08 overlong":             "{\"name\":\"\xc0\x80\"}",
		"B-JSN-08 raw surrogate":        "{\"name\":\"\xed\xa0\x80\"}",
		"B-JSN-08 lone surrogate":       `{"name":"\ud800"}`,
		"B-JSN-08 lone low surrogate":   `{"name":"\udc00"}`,
		"B-JSN-08 swapped surrogates":   `{"name":"\udc00\ud800"}`,
		"B-JSN-08 escaped zero":         `{"name":"a\u0000b"}`,
		"B-JSN-08 zero in a key":        `{"na\u0000me":"a"}`,
		"B-JSN-08 raw zero":             "{\"name\":\"a\x00b\"}",
		"B-JSN-08 bad escape":           `{"name":"\x41"}`,
		"B-JSN-09 more than 100k keys":  manyKeys(100_001),
		"B-JSN-09 more than 100k items": `{"name":[` + strings.Repeat("1,", 100_001) + `1]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := d.admin(t).Post("/v2/workspaces", body)
			mustRefuse(t, of(got), http.StatusBadRequest)
			if got.Text("error") != "invalid_request" {
				t.Errorf("code %s", got.Text("error"))
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	b.WriteString(`{"a":1`)
	for i := range n {
		fmt.Fprintf(&b, `,"%d":1`, i)
	}
	b.WriteString("}")
	return b.String()
}

// Documents that break the rules of the operation: each wrong field is named.
func invalidBodies(t *testing.T, d *door) {
	t.Helper()
	id := workspace(t, d.admin(t), "Numbers")
	events := "/v2/workspaces/" + id + "/events"
	for name, c := range map[string]struct{ path, body, field string }{
		"missing field":                        {"/v2/workspaces", `{}`, "name"},
		"missing deep field":                   {events, `{"events":[{"type":"a","payload":1},{"payload":1}]}`, "events[1].type"},
		"not an object":                        {"/v2/workspaces", `[]`, ""},
		"null":                                 {"/v2/workspaces", `null`, ""},
		"a string":                             {"/v2/workspaces", `"x"`, ""},
		"wrong type":                           {"/v2/workspaces", `{"name":{}}`, "name"},
		"wrong type in a list":                 {"/v2/workspaces", `{"name":"a","labels":["x",1]}`, "labels[1]"},
		"empty":                                {"/v2/workspaces", `{"name":""}`, "name"},
		"too long":                             {"/v2/workspaces", `{"name":"` + strings.Repeat("a", 61) + `"}`, "name"},
		"pattern":                              {"/v2/workspaces", `{"name":"<b>"}`, "name"},
		"B-JSN-04 upper case":                  {"/v2/workspaces", `{"NAME":"a"}`, "NAME"},
		"B-JSN-04 both cases":                  {"/v2/workspaces", `{"name":"a","Name":"b"}`, "Name"},
		"B-JSN-04 long s":                      {"/v2/workspaces", `{"name":"a","ſlug":"b"}`, "ſlug"},
		"B-JSN-04 Kelvin sign":                 {"/v2/workspaces", `{"name":"a","Kind":"b"}`, "Kind"},
		"B-JSN-04 dotless i":                   {"/v2/workspaces", `{"name":"a","descrıption":"b"}`, "descrıption"},
		"B-JSN-04 deep":                        {events, `{"events":[{"type":"a","payload":1,"target":{"userid":"x"}}]}`, "events[0].target.userid"},
		"B-JSN-05 unknown":                     {"/v2/workspaces", `{"name":"a","id":"mine"}`, "id"},
		"B-JSN-05 server-owned":                {"/v2/workspaces", `{"name":"a","createdBy":"me"}`, "createdBy"},
		"B-JSN-07 1e400":                       {"/v2/login/anonymous", `{"expiresAfter":1e400}`, "expiresAfter"},
		"B-JSN-07 -1e400":                      {"/v2/login/anonymous", `{"expiresAfter":-1e400}`, "expiresAfter"},
		"B-JSN-07 thirty digits":               {"/v2/login/anonymous", `{"expiresAfter":123456789012345678901234567890}`, "expiresAfter"},
		"B-JSN-07 1.0 for a whole number":      {"/v2/login/anonymous", `{"expiresAfter":100.0}`, "expiresAfter"},
		"B-JSN-07 exponent for a whole number": {"/v2/login/anonymous", `{"expiresAfter":1e3}`, "expiresAfter"},
		"B-JSN-07 1.5 for a whole number":      {"/v2/login/anonymous", `{"expiresAfter":100.5}`, "expiresAfter"},
		"B-JSN-07 negative zero":               {"/v2/login/anonymous", `{"expiresAfter":-0}`, "expiresAfter"},
		"B-JSN-07 text for a number":           {"/v2/login/anonymous", `{"expiresAfter":"100"}`, "expiresAfter"},
		"B-JSN-07 true for a number":           {"/v2/login/anonymous", `{"expiresAfter":true}`, "expiresAfter"},
		"B-JSN-09 very long key":               {"/v2/workspaces", `{"name":"a","` + strings.Repeat("k", 1<<19) + `":1}`, strings.Repeat("k", 200) + "…"},
		"B-JSN-12 __proto__ as a field":        {"/v2/workspaces", `{"name":"a","__proto__":{}}`, "__proto__"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := d.admin(t).Post(c.path, c.body)
			mustRefuse(t, of(got), http.StatusUnprocessableEntity)
			got.WantField(c.field)
		})
	}
}

// A body with very many mistakes does not get an answer of its own size.
func manyMistakesShortAnswer(t *testing.T, d *door) {
	t.Helper()
	got := d.admin(t).Post("/v2/workspaces", manyKeys(20_000)).WantError(http.StatusUnprocessableEntity, "validation_failed")
	if list, _ := got.At("details.errors").([]any); len(list) != 100 {
		t.Errorf("%d mistakes are listed", len(list))
	}
}

// B-JSN-07, B-JSN-12: what is only carried is carried unchanged: numbers keep their text, odd keys are data.
func payloadIsUnchanged(t *testing.T, d *door) {
	t.Helper()
	admin := d.admin(t)
	path := "/v2/workspaces/" + workspace(t, admin, "Payloads") + "/events"
	payload := `{"big":123456789012345678901234567890,"huge":1e400,"tiny":1e-400,"one":1.0,"zero":-0,` +
		`"__proto__":{"admin":true},"constructor":1,"toString":"x","html":"<script>&</script>","smile":"\ud83d\ude00 😀"}`
	created := admin.Post(path, `{"events":[{"type":"a","payload":`+payload+`}]}`).Want(http.StatusOK)
	listed := admin.Get(path + "?types=a").Want(http.StatusOK)
	for what, text := range map[string]string{"answer": string(created.Body), "list": string(listed.Body)} {
		if !strings.Contains(text, payload) {
			t.Errorf("the %s changed the payload:\n%s", what, text)
		}
	}
}

// B-JSN-06: a payload may nest deeply, within the limit of the whole document.
func deepestPayload(t *testing.T, d *door) {
	t.Helper()
	admin := d.admin(t)
	path := "/v2/workspaces/" + workspace(t, admin, "Deep") + "/events"
	const around = 3 // the body, its list and the event
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	admin.Post(path, `{"events":[{"type":"a","payload":`+deep(64-around)+`}]}`).Want(http.StatusOK)
	admin.Post(path, `{"events":[{"type":"a","payload":`+deep(65-around)+`}]}`).WantError(http.StatusBadRequest, "invalid_request")
}
