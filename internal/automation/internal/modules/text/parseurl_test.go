package text_test

import (
	"strings"
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/text"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"HTTPS://Bob:s%20t@Example.com:443/a%20b/c?x=1&y=%C3%A9&x=2&x=3&flag&a[b]=c#top": `{"href":"https://Bob:s%20t@example.com/a%20b/c?x=1&y=%C3%A9&x=2&x=3&flag&a[b]=c#top",` +
			`"protocol":"https:","origin":"https://example.com","username":"Bob","password":"s t","host":"example.com","hostname":"example.com","port":"",` +
			`"pathname":"/a%20b/c","search":"?x=1&y=%C3%A9&x=2&x=3&flag&a[b]=c","hash":"#top","query":{"x":["1","2","3"],"y":"é","flag":"","a[b]":"c"}}`,
		"http://[::1]:8080": `{"href":"http://[::1]:8080/","protocol":"http:","origin":"http://[::1]:8080","username":"","password":"","host":"[::1]:8080",` +
			`"hostname":"::1","port":"8080","pathname":"/","search":"","hash":"","query":{}}`,
		"mailto:a@b.example": `{"href":"mailto:a@b.example","protocol":"mailto:","origin":"null","username":"","password":"","host":"","hostname":"","port":"",` +
			`"pathname":"a@b.example","search":"","hash":"","query":{}}`,
	} {
		got, err := text.ParseURL(machine.Payload("url", address))
		if err != nil || compact(t, got) != want {
			t.Errorf("%s:\n%s\n%v", address, compact(t, got), err)
		}
	}
	for name, address := range map[string]any{
		"nothing": "", "relative": "/a/b", "no host": "https://", "no address": "hello", "half an escape": "https://a/%z", "control": "https://a/\x00", "list": []any{},
		"many": "https://a/?" + strings.Repeat("a&", 1001),
	} {
		refused(t, name, text.ParseURL, machine.InvalidArguments, "text.parseUrl: url", "url", address)
	}
}
